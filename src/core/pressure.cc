// SPDX-License-Identifier: Apache-2.0
#include "core/pressure.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

constexpr double kNsPerSecond = 1e9;

// The end of a slow drift is no news.
constexpr Duration kPredictedAtMost = hours(24);

double seconds_of(Duration duration) {
  return static_cast<double>(duration.ns) / kNsPerSecond;
}

bool reaches(Bytes used, Bytes budget, std::uint32_t percent) {
  return budget > Bytes{} &&
         static_cast<double>(used.value) * 100 >= static_cast<double>(budget.value) * percent;
}

std::optional<Duration> until_full(Bytes used, Bytes budget, double per_second) {
  if (per_second <= 0) return std::nullopt;
  const double left = static_cast<double>(saturating_sub(budget, used).value) / per_second;
  if (left > seconds_of(kPredictedAtMost)) return std::nullopt;
  return Duration{static_cast<std::int64_t>(left * kNsPerSecond)};
}

}  // namespace

void Trend::add(Instant at, Bytes value) {
  if (count_ > 0 && at - points_[count_ - 1].at < kSpan) return;
  if (count_ == points_.size()) {
    std::shift_left(points_.begin(), points_.end(), 1);
    --count_;
  }
  points_[count_] = {at, value};
  ++count_;
}

double Trend::per_second() const {
  if (count_ < points_.size()) return 0;
  std::optional<double> least;
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const double grown = static_cast<double>(points_[i].value.value) -
                         static_cast<double>(points_[i - 1].value.value);
    const double rate = grown / seconds_of(points_[i].at - points_[i - 1].at);
    least = std::min(least.value_or(rate), rate);
  }
  return std::max(least.value_or(0), 0.0);
}

void PressureState::measure(Instant at, Pressure measured) {
  if (measured >= level_) {
    level_ = measured;
    since_.reset();
    return;
  }
  lower_ = since_ ? std::max(lower_, measured) : measured;
  if (!since_) since_ = at;
  if (at - *since_ < kCalmFor) return;
  level_ = lower_;
  since_.reset();
}

Pressure pressure_of(const Room& room, Duration ahead) {
  const auto grows = Bytes{static_cast<std::uint64_t>(room.intruding * seconds_of(ahead))};
  if (room.owed_most > saturating_sub(room.free, grows)) return Pressure::kCritical;
  return room.owed > room.free ? Pressure::kWarn : Pressure::kNormal;
}

void Coordinator::Impl::update_pressure(const Sample& sample) {
  const std::vector<const Account*> accounts = sampled_accounts(sample);
  for (const Account* account : accounts) update_pressure_on(*account, sample.asked_at);
  for (const LeaseId id : leases_on(accounts)) update_pressure_of(id, sample.asked_at);
  const bool is_urgent =
      std::ranges::any_of(accounts, [&](const Account* account) { return gets_worse(*account); });
  if (is_urgent) ask_probe(sample.asked_at + limits::kProbePressedEvery);
}

// A level that lasts is no reason to look more often: what matters is how soon it is passed.
bool Coordinator::Impl::gets_worse(const Account& account) const {
  const KnownDevice& device = seen_devices.at(account.id);
  const bool is_pressed = device.pressure_state.level() != Pressure::kNormal;
  if (is_pressed && device.rises) return true;
  return std::ranges::any_of(account.entries, [&](const auto& entry) {
    const Observed& seen = observed.at(entry.first);
    return seen.rises && (is_pressed || seen.pressure_state.level() != Pressure::kNormal);
  });
}

void Coordinator::Impl::update_pressure_on(const Account& account, Instant at) {
  KnownDevice& device = seen_devices.at(account.id);
  device.rises = device.unmanaged_trend.is_below(account.unmanaged);
  device.unmanaged_trend.add(at, account.unmanaged);
  Room room{.intruding = device.unmanaged_trend.per_second()};
  bool known = device.used.has_value() && device.lists_processes;
  for (const auto& [id, entry] : account.entries) {
    const auto& uses = observed.at(id).use;
    const auto use = uses.find(account.id);
    known = known && (use == uses.end() || !use->second.figure_missing);
    const Bytes used = use == uses.end() ? Bytes{} : use->second.now.value_or(Bytes{});
    const Bytes owed = saturating_sub(entry.budget, used);
    room.owed += owed;
    room.owed_most = std::max(room.owed_most, owed);
  }
  device.owed = known ? std::optional(room.owed) : std::nullopt;
  if (!known) return;  // What was felt last stays.
  room.free = saturating_sub(account.capacity, account.driver + checked(device.used));
  const Pressure before = device.pressure_state.level();
  device.measured = pressure_of(room, settings.pressure.ahead);
  device.pressure_state.measure(at, device.measured);
  if (device.pressure_state.level() == before) return;
  ++version;
  effects.emplace_back(NotifyDevice{account.id});
}

void Coordinator::Impl::update_pressure_of(LeaseId id, Instant at) {
  const Lease& lease = *state.find(id);
  Observed& seen = observed.at(id);
  seen.rises = false;
  if (lease.held() == nullptr) return;
  Pressure level = Pressure::kNormal;
  seen.full_in.reset();
  for (const Part& part : lease.held()->parts) {
    const auto found = seen.use.find(part.device);
    if (found == seen.use.end()) continue;
    Use& use = found->second;
    if (use.figure_missing) return;
    const Bytes used = use.higher_now();
    seen.rises |= use.trend.is_below(used);
    use.trend.add(at, used);
    if (reaches(used, part.budget, settings.pressure.critical_percent)) {
      level = Pressure::kCritical;
    } else if (reaches(used, part.budget, settings.pressure.warn_percent)) {
      level = std::max(level, Pressure::kWarn);
    }
    if (const auto left = until_full(used, part.budget, use.trend.per_second())) {
      seen.full_in = std::min(seen.full_in.value_or(*left), *left);
    }
  }
  const Pressure before = seen.pressure_state.level();
  seen.pressure_state.measure(at, level);
  if (seen.pressure_state.level() != before) notify(id, LeaseEvent::kPressure);
}

}  // namespace berth::core
