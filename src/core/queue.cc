// SPDX-License-Identifier: Apache-2.0
#include "core/queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::core {
namespace {

constexpr double kAheadSeconds = static_cast<double>(limits::kShareAhead.ns) * 1e-9;
constexpr Bytes kWholeDeviceCounts = gib(64);

Ranking ranking_of(const Lease& lease, const Settings& settings) {
  switch (settings.order) {
    case Order::kFifo:
      return fifo_ranking(lease);
    case Order::kPriority:
      return priority_ranking(lease, settings.aging);
    case Order::kFair:
      return fair_ranking(lease, settings.aging);
  }
  CHECK(false);
}

}  // namespace

Place Queue::place_of(const Lease& lease, const Settings& settings) {
  Ranking ranking = ranking_of(lease, settings);
  return {.group = std::move(ranking.group),
          .rank = ranking.rank,
          .sequence = lease.waits_sequence(),
          .id = lease.id,
          .lease = &lease,
          .queued_at = lease.waits_since(),
          .need = need_of(lease.request),
          .urgent = lease.request.priority == Priority::kUrgent};
}

void Queue::insert(const Place& place) {
  const Key key{place.rank, place.sequence, place.id, place.need, place.lease};
  const bool inserted = groups_[place.group].insert(key).second;
  CHECK(inserted);
  needs_.insert(place.need);
  by_age_.emplace(std::pair(place.queued_at, place.id), place.lease);
  ++size_;
  urgent_ += place.urgent ? 1U : 0U;
}

void Queue::erase(const Place& place) {
  const auto group = groups_.find(place.group);
  CHECK(group != groups_.end());
  const Key key{place.rank, place.sequence, place.id, place.need, place.lease};
  CHECK(group->second.erase(key) == 1);
  if (group->second.empty()) groups_.erase(group);
  needs_.erase(needs_.find(place.need));
  by_age_.erase({place.queued_at, place.id});
  --size_;
  urgent_ -= place.urgent ? 1U : 0U;
}

Bytes Queue::least_need() const {
  return needs_.empty() ? Bytes::max() : *needs_.begin();
}

bool Queue::has_whole_device_request() const {
  return !needs_.empty() && *needs_.rbegin() == Bytes::max();
}

InOrder::InOrder(const Queue& queue, Instant now, const Settings& settings,
                 const std::map<ShareKey, Usage>& usage)
    : queue_(queue), aged_(queue.by_age_.begin()) {
  const bool shared = queue.groups_.size() > 1;
  if (shared) aged_before_ = Instant{now.ns - settings.starve_after.ns};
  turns_.reserve(queue.groups_.size());
  for (const auto& [key, group] : queue.groups_) {
    double share = 0;
    const auto used = shared ? usage.find(key) : usage.end();
    if (used != usage.end()) {
      share = share_at(used->second, now) + used->second.rate * kAheadSeconds;
    }
    turns_.push_back({share, group.begin(), group.end()});
  }
  std::ranges::make_heap(turns_, is_later);
}

// Ties go to who asked first.
bool InOrder::is_later(const Turn& a, const Turn& b) {
  return std::pair(a.share, a.head->sequence) > std::pair(b.share, b.head->sequence);
}

const Lease* InOrder::next() {
  if (aged_ != queue_.by_age_.end() && aged_->first.first <= aged_before_) {
    const Lease* lease = aged_->second;
    ++aged_;
    return lease;
  }
  while (!turns_.empty()) {
    std::ranges::pop_heap(turns_, is_later);
    Turn& turn = turns_.back();
    const Queue::Key head = *turn.head;
    // A whole device counts as a large budget would; its size is not known here.
    const Bytes need = head.need == Bytes::max() ? kWholeDeviceCounts : head.need;
    turn.share += static_cast<double>(need.value) * kAheadSeconds;
    if (++turn.head == turn.end) {
      turns_.pop_back();
    } else {
      std::ranges::push_heap(turns_, is_later);
    }
    const bool came_already = head.lease->waits_since() <= aged_before_;
    if (!came_already) return head.lease;
  }
  return nullptr;
}

}  // namespace berth::core
