// SPDX-License-Identifier: Apache-2.0
#include "core/queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::core {
namespace {

constexpr double kAheadSeconds = static_cast<double>(limits::kShareAhead.ns) * 1e-9;

// What a user has had, and what is theirs now: that counts as long as a grant does at once.
double counted_at(const Usage& usage, Instant now) {
  return share_at(usage, now) + usage.rate * kAheadSeconds;
}

Ranking ranking_of(const Lease& lease, const Settings& settings) {
  switch (settings.order) {
    case Order::kFifo:
      return fifo_ranking(lease);
    case Order::kPriority:
      return priority_ranking(lease, settings.aging);
    case Order::kFair:
      return fair_ranking(lease, settings.aging);
    case Order::kValue:
      return value_ranking(lease);
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

InOrder::InOrder(const Queue& queue, Instant now, const Settings& settings, const Shares& shares)
    : queue_(queue), aged_(queue.by_age_.begin()) {
  const bool shared = queue.groups_.size() > 1;
  if (shared) aged_before_ = Instant{now.ns - settings.starve_after.ns};
  sessions_.reserve(queue.groups_.size());
  const Shares::Sessions nothing;
  auto group = queue.groups_.begin();
  while (group != queue.groups_.end()) {
    const UserId user = group->first.user;
    const auto known = shared ? shares.users().find(user) : shares.users().end();
    const Shares::Sessions& past = known == shares.users().end() ? nothing : known->second;
    User turn{.share = 0, .first = sessions_.size(), .end = sessions_.size()};
    for (const auto& [name, usage] : past) turn.share += counted_at(usage, now);
    for (; group != queue.groups_.end() && group->first.user == user; ++group, ++turn.end) {
      const auto used = past.find(group->first.session);
      const double share = used == past.end() ? 0 : counted_at(used->second, now);
      sessions_.push_back({share, group->second.begin(), group->second.end()});
    }
    std::ranges::make_heap(sessions_of(turn), SessionIsLater());
    users_.push_back(turn);
  }
  std::ranges::make_heap(users_, UserIsLater{sessions_});
}

std::span<InOrder::Session> InOrder::sessions_of(const User& user) {
  return std::span(sessions_).subspan(user.first, user.end - user.first);
}

// Ties go to who asked first.
bool InOrder::SessionIsLater::operator()(const Session& a, const Session& b) const {
  return std::pair(a.share, a.head->sequence) > std::pair(b.share, b.head->sequence);
}

bool InOrder::UserIsLater::operator()(const User& a, const User& b) const {
  return std::pair(a.share, sessions[a.first].head->sequence) >
         std::pair(b.share, sessions[b.first].head->sequence);
}

const Lease* InOrder::next() {
  if (aged_ != queue_.by_age_.end() && aged_->first.first <= aged_before_) {
    const Lease* lease = aged_->second;
    ++aged_;
    return lease;
  }
  while (!users_.empty()) {
    std::ranges::pop_heap(users_, UserIsLater{sessions_});
    User& user = users_.back();
    const std::span<Session> sessions = sessions_of(user);
    std::ranges::pop_heap(sessions, SessionIsLater());
    Session& session = sessions.back();
    const Queue::Key head = *session.head;
    // A whole device counts as a large budget would; its size is not known here.
    const Bytes need = head.need == Bytes::max() ? limits::kWholeDeviceCounts : head.need;
    const double counts = static_cast<double>(need.value) * kAheadSeconds;
    session.share += counts;
    user.share += counts;
    if (++session.head == session.end) {
      --user.end;
    } else {
      std::ranges::push_heap(sessions, SessionIsLater());
    }
    if (user.first == user.end) {
      users_.pop_back();
    } else {
      std::ranges::push_heap(users_, UserIsLater{sessions_});
    }
    const bool came_already = head.lease->waits_since() <= aged_before_;
    if (!came_already) return head.lease;
  }
  return nullptr;
}

}  // namespace berth::core
