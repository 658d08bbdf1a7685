// SPDX-License-Identifier: Apache-2.0
// Accounts that the programs of leases keep themselves, as the guard has them do it: exactly what
// they take, on the devices of their lease, wherever it is at the moment. Half of the leases keep
// one; the programs of the others run without the guard.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/device.h"
#include "model/lease.h"
#include "sim/devices.h"

namespace berth::sim {

class Accounts {
 public:
  explicit Accounts(const Devices& devices) : devices_(devices) {}

  /// From now on the lease has these budgets; without any it is over.
  void set_budgets(const LeaseView& lease, const std::vector<Part>& budgets);
  /// The daemon is gone. The next one says again who has which budgets.
  void forget() { accounts_.clear(); }

  /// The driver is asked now. What is charged or given back until charges() is no part of what it
  /// tells for certain.
  void question();
  std::vector<ChargeSample> charges();

  /// All that this lease uses it has charged: nothing that was left behind inside of it counts.
  bool charges_all(Handle lease) const;

 private:
  struct Account {
    LeaseId id;
    std::vector<DeviceId> devices;
    std::vector<DeviceId> left;  // Where what is in host memory was, as long as some is.
    std::vector<Bytes> peaks;
    std::vector<Bytes> before;  // When the driver was asked,
    std::uint64_t changes = 0;  // and how often something had changed until then.
  };
  bool has_memory_away(Handle lease) const;
  std::vector<Bytes> charged(Handle lease, const Account& account) const;

  const Devices& devices_;
  std::map<Handle, Account> accounts_;
};

}  // namespace berth::sim
