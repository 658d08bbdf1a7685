// SPDX-License-Identifier: Apache-2.0
// The door to time. Instants come from CLOCK_BOOTTIME, which runs on while the machine sleeps and
// is never set back; wall time is for people and records and decides nothing. Any thread.
#pragma once

#include "base/units.h"

namespace berth::os {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
  virtual UnixMs wall() const = 0;
};

class PosixClock final : public Clock {
 public:
  Instant now() const override;
  UnixMs wall() const override;
};

}  // namespace berth::os
