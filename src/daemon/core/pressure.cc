// SPDX-License-Identifier: Apache-2.0
#include "core/pressure.h"

#include <algorithm>
#include <optional>

namespace berth::core {
namespace {

constexpr double kNsPerSecond = 1e9;

double seconds_of(Duration duration) {
  return static_cast<double>(duration.ns) / kNsPerSecond;
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

}  // namespace berth::core
