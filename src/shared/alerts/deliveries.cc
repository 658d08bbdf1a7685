// SPDX-License-Identifier: Apache-2.0
#include "alerts/deliveries.h"

#include <algorithm>

#include "base/check.h"

namespace berth::alerts {
namespace {

constexpr std::uint64_t kNumbersInAMillisecond = 1'000;

}  // namespace

void Deliveries::restore(std::vector<AlertDelivery> kept) {
  for (AlertDelivery& delivery : kept) {
    last_number_ = std::max(last_number_, delivery.number);
    waiting_.emplace(delivery.number, std::move(delivery));
  }
  restored_ = true;
}

// Numbers go on where a daemon before this one ended, whether or not it is known yet where that
// was.
std::optional<AlertDelivery> Deliveries::add(AlertDelivery delivery, std::optional<UserId> about) {
  const auto from_time =
      static_cast<std::uint64_t>(std::max<std::int64_t>(delivery.created.value, 0)) *
      kNumbersInAMillisecond;
  last_number_ = std::max(last_number_ + 1, from_time);
  delivery.number = last_number_;
  changed(delivery.number);
  if (about) about_[delivery.number] = *about;
  waiting_.emplace(delivery.number, std::move(delivery));
  if (waiting_.size() <= kWaitingMax) return std::nullopt;
  const auto oldest = waiting_.find(one_too_many());
  CHECK(oldest != waiting_.end());
  AlertDelivery lost = std::move(oldest->second);
  waiting_.erase(oldest);
  dropped(lost.number);
  return lost;
}

// So that a user who has a thousand leases end in a minute keeps nobody from hearing of others'.
std::uint64_t Deliveries::one_too_many() const {
  struct Of {
    std::size_t count = 0;
    std::uint64_t oldest = 0;
  };
  std::map<std::optional<UserId>, Of> by_user;
  for (const auto& [number, delivery] : waiting_) {
    if (tried_.contains(number)) continue;
    const auto about = about_.find(number);
    Of& of = by_user[about == about_.end() ? std::nullopt : std::optional(about->second)];
    if (of.count++ == 0) of.oldest = number;
  }
  CHECK(!by_user.empty());
  return std::ranges::max_element(by_user, {}, [](const auto& entry) { return entry.second.count; })
      ->second.oldest;
}

// The first of each lane that nothing is being tried of.
std::vector<const AlertDelivery*> Deliveries::heads() const {
  std::vector<const AlertDelivery*> first;
  if (!restored_ || tried_.size() >= kAtOnce) return first;
  std::set<Lane> seen;
  for (const std::uint64_t number : tried_) {
    const AlertDelivery& delivery = waiting_.at(number);
    seen.emplace(delivery.rule, delivery.channel);
  }
  for (const auto& [number, delivery] : waiting_) {
    if (seen.emplace(delivery.rule, delivery.channel).second) first.push_back(&delivery);
  }
  return first;
}

std::vector<AlertDelivery> Deliveries::take_due(UnixMs now) {
  std::vector<AlertDelivery> due;
  for (const AlertDelivery* head : heads()) {
    if (head->next > now && head->next.value - now.value <= kPauseMax.ns / milliseconds(1).ns) {
      continue;
    }
    if (tried_.size() >= kAtOnce) break;
    tried_.insert(head->number);
    due.push_back(*head);
  }
  return due;
}

std::optional<Duration> Deliveries::next(UnixMs now) const {
  std::optional<Duration> soonest;
  for (const AlertDelivery* head : heads()) {
    const Duration left = milliseconds(std::max<std::int64_t>(head->next.value - now.value, 0));
    soonest = std::min(soonest.value_or(left), left);
  }
  return soonest;
}

Deliveries::Disposition Deliveries::finished(std::uint64_t number, Outcome outcome,
                                             std::optional<Duration> pause, UnixMs now,
                                             std::uint64_t chance) {
  tried_.erase(number);
  const auto found = waiting_.find(number);
  CHECK(found != waiting_.end());
  AlertDelivery& delivery = found->second;
  ++delivery.attempts;
  const Duration age = milliseconds(now.value - delivery.created.value);
  if (outcome != Outcome::kRetry || age >= kGiveUpAfter) {
    waiting_.erase(found);
    dropped(number);
    return outcome == Outcome::kDelivered ? Disposition::kDone : Disposition::kGivenUp;
  }
  const Duration wanted =
      std::max(retry_after(delivery.attempts, chance), pause.value_or(Duration{}));
  delivery.next.value = now.value + std::min(wanted, kPauseMax).ns / milliseconds(1).ns;
  changed(number);
  return Disposition::kAgain;
}

std::uint64_t Deliveries::count_of(const std::string& rule) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      waiting_, [&](const auto& entry) { return entry.second.rule == rule; }));
}

void Deliveries::dropped(std::uint64_t number) {
  put_.erase(number);
  about_.erase(number);
  drop_.push_back(number);
}

Deliveries::Changes Deliveries::take_changes() {
  Changes changes{.put = {}, .drop = std::exchange(drop_, {})};
  for (const std::uint64_t number : std::exchange(put_, {})) {
    changes.put.push_back(waiting_.at(number));
  }
  return changes;
}

Duration retry_after(std::uint32_t attempts, std::uint64_t chance) {
  constexpr std::uint32_t kDoublings = 9;
  constexpr Duration kFirst = seconds(2);
  const std::uint32_t doublings = std::min(attempts == 0 ? 0 : attempts - 1, kDoublings);
  const Duration whole{std::min(kFirst.ns << doublings, Deliveries::kPauseMax.ns)};
  const auto spread = static_cast<std::uint64_t>(whole.ns / 2);
  return {whole.ns / 2 + static_cast<std::int64_t>(chance % (spread + 1))};
}

}  // namespace berth::alerts
