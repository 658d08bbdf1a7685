// SPDX-License-Identifier: Apache-2.0
// The ledger says, for each device, what is held back, what leases are charged and what may be
// granted.
//
// Note [Held back, charge, grantable]: held back = max(reserve, unmanaged - ignored + driver),
// since the reserve is a floor for unmanaged processes and not an addition; the charge of a lease
// is the larger of its budget and its measured use; grantable = capacity - held back - charges,
// never below 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/request.h"

namespace berth::core {

/// What a program has said of its own end.
struct ReportedEnd {
  Instant at;
  Duration left;  // From then on.
  friend auto operator<=>(const ReportedEnd&, const ReportedEnd&) = default;
};

/// One lease on one device.
struct Entry {
  Bytes budget;  // 0 once it is releasing.
  Bytes charge;
  bool exclusive = false;
  std::optional<ReportedEnd> reported_end = {};
  friend auto operator<=>(const Entry&, const Entry&) = default;
};

/// One device.
struct Account {
  DeviceId id;
  std::uint32_t index = 0;
  std::string model;
  bool seen = false;  // In the last sample, and not lost.
  Bytes capacity;
  Bytes reserve;
  Bytes unmanaged;  // Used by processes of no lease, as far as is known.
  Bytes ignored;    // Of that; held back from nobody, because the operator wants it so.
  Bytes driver;
  Bytes charged;  // The sum over entries, kept by hand.
  Bytes granted;
  std::uint32_t exclusive_count = 0;
  std::map<LeaseId, Entry> entries;

  /// What the lease has here is counted as unmanaged, before its entry is taken away.
  void disown(LeaseId lease);
  /// What of the unmanaged use counts.
  Bytes heeded() const { return saturating_sub(unmanaged, ignored); }
  Bytes held_back() const;
  /// The same without the reserve, which is kept for others: for who comes back and is alone.
  Bytes held_back_when_alone() const { return heeded() + driver; }
  Bytes grantable() const;
  /// Charges and what is held back exceed the capacity. The world may do that; nothing is granted.
  bool overcommitted() const;
  /// What the largest budget on the empty device may be.
  Bytes grantable_when_empty() const;
};

class Ledger {
 public:
  /// In PCI order; devices that are not seen come last.
  const std::vector<Account>& accounts() const { return accounts_; }
  const Account* find(DeviceId device) const;

  /// Makes the account if there is none: a lease may be on a device that is not seen (yet).
  Account& account(DeviceId device);
  void sort();

  /// Sets the entry of a lease on a device; absent: removes it. True if anything changed.
  bool put(DeviceId device, LeaseId lease, const std::optional<Entry>& entry);

  /// Recounts all sums.
  void check() const;

 private:
  std::vector<Account> accounts_;
};

/// What a lease could have of the device beside all others. What it has there already is its own.
struct RoomBeside {
  Bytes bytes;
  std::size_t others = 0;
};
RoomBeside room_for(const Account& account, LeaseId lease);

/// The device could take the request now, looking at the ledger alone.
bool fits_now(const Account& account, const Request& request, Bytes exclusive_unmanaged_max);

/// The device could take the request if nobody else were on it.
bool fits_ever(const Account& account, const Request& request);

/// The request may use the device at all: it names it, or names none.
bool is_eligible(const Account& account, const Request& request);

}  // namespace berth::core
