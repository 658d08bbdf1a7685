// SPDX-License-Identifier: Apache-2.0
// Charges of dead processes in the ledgers of leases, until the driver has freed them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "enforce/lease_files.h"
#include "model/device.h"

namespace berth::server {

/// Whether the driver has freed what a process had on some devices, by a sample that was asked for
/// after its death.
enum class Freed : std::uint8_t { kYes, kNo, kUnknown };
/// Nothing where it is not known how the driver numbers it: then it may be any dead one.
Freed is_freed(std::optional<Process> process, const std::vector<DeviceId>& devices,
               const Sample& sample);

/// See Note [What the dead have] in guard/ledger.cc.
class DeadSlots {
 public:
  static constexpr Duration kUnknownFor = seconds(2);        // Where the driver does not say it.
  static constexpr Duration kUnnamedFor = seconds(30);       // Where it may be another one's.
  static constexpr Duration kZombieFor = milliseconds(250);  // Such a one may be listed as alive.
  static constexpr Duration kFastFor = seconds(1);  // After a death the driver is asked often,
  static constexpr Duration kFastEvery = milliseconds(10);
  static constexpr Duration kSlowEvery = milliseconds(100);
  static constexpr Duration kSlowFor = seconds(30);  // and less often up to here.

  struct Dead {
    enforce::Use::Slot slot;
    bool named = false;             // Its pid is as the driver has it, too.
    std::vector<DeviceId> devices;  // On which it has something charged.
  };
  /// Before the driver is asked: those of a lease, all of them.
  void found(Handle lease, const std::vector<Dead>& dead, Instant now);
  void forget(Handle lease) { leases_.erase(lease); }

  struct Settled {
    Handle lease;
    std::vector<enforce::Use::Slot> freed;  // To be cleared.
  };
  /// Of each lease that has dead ones, by the driver's answer to that question.
  std::vector<Settled> answered(const Sample& sample, Instant now);
  /// When the driver should be asked again; never if nobody dead has anything.
  Instant next(Instant now) const;

 private:
  struct Known {
    Dead dead;
    Instant since;
  };
  static bool is_settled(const Known& known, const Sample& sample, Instant now);

  std::map<Handle, std::vector<Known>> leases_;
};

}  // namespace berth::server
