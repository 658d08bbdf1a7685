// SPDX-License-Identifier: Apache-2.0
#include "server/probe_schedule.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"

namespace berth::server {

void ProbeSchedule::want(Instant at) {
  wanted_at_ = std::min(wanted_at_, at);
}

void ProbeSchedule::asked(Instant now) {
  CHECK(!open_);
  open_ = true;
  if (wanted_at_ <= now) wanted_at_ = Instant::never();
}

void ProbeSchedule::answered(Instant now) {
  open_ = false;
  answered_at_ = now;
}

Instant ProbeSchedule::next(bool busy) const {
  if (open_) return Instant::never();
  if (!answered_at_) return wanted_at_;
  if (is_fresh(busy)) return std::min(wanted_at_, *answered_at_ + every_);
  const Instant active = std::max(used_at_, looked_at_until_);
  const bool rests = *answered_at_ >= active + kIdleFor;
  return rests ? wanted_at_ : std::min(wanted_at_, *answered_at_ + kIdleEvery);
}

bool ProbeSchedule::is_cold(Instant now, bool busy) const {
  if (!answered_at_) return true;
  const bool looked = busy || now < looked_at_until_;
  return !looked && *answered_at_ + kOldAfter < now;
}

bool ProbeSchedule::is_fresh(bool busy) const {
  return busy || checked(answered_at_) < looked_at_until_;
}

}  // namespace berth::server
