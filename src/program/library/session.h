// SPDX-License-Identifier: Apache-2.0
// Session of a program: its lease, its devices and what can be measured of them, each figure
// with its source and its age. It works without any of these, and says so once. Any thread; no lock
// is held while the driver is asked.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "berth/berth.h"
#include "library/daemon.h"
#include "library/devices.h"
#include "library/lease.h"
#include "library/lease_variables.h"
#include "library/progress_pace.h"
#include "os/clock.h"
#include "wire/request.h"

namespace berth::library {

/// A figure that is known, or not.
struct Figure {
  std::optional<Bytes> bytes;
  Instant at;
  std::uint32_t source = BERTH_UNKNOWN;
};

struct Measured {
  Figure total, used, free, own, lease_used, budget;
};

using Say = std::function<void(std::string_view)>;

class Session {
 public:
  explicit Session(const Say& say);

  std::size_t device_count() const;
  const SeenDevice* device(std::size_t index) const;
  /// That there is no such device; kNotFound.
  Error no_device(std::size_t index) const;
  std::uint64_t lease_number() const { return lease_ ? lease_->number : 0; }
  bool has_lease() const { return lease_.has_value(); }
  /// It was acquired by this process, which may give it back.
  bool owns_lease() const { return owns_lease_.load(); }
  void own_lease(LeaseVariables variables);
  /// Ends the lease that it owns; its variables go out of the environment as soon as it is over.
  Status release_lease();
  bool has_driver() const { return devices_.has_value(); }
  bool simulated() const { return devices_ && devices_->simulated(); }

  /// What was measured within `age_max`, else measured now.
  Measured measure(std::size_t device, Duration age_max);
  Figure host_used(Duration age_max);

  /// What the daemon asks of this lease; kUnavailable: there is none. kConflict: another thread
  /// listens already.
  Result<std::optional<Ask>> next_ask(Duration within);
  /// How far the program is; told when it is time to. kUnavailable: no lease, or no daemon.
  Status report_progress(const ProgressBody& body);
  /// A question about the lease. kUnavailable: no lease, or no daemon.
  Status ask(wire::Route route, const AnyBody& body, Duration within) const;

 private:
  struct Cached {
    Instant at = {-1};
    DeviceMemory memory;
  };
  std::string look_at_lease();
  void add_lease_figures(std::size_t device, Instant now, Measured& measured) const;

  os::PosixClock clock_;
  std::optional<Devices> devices_;
  std::optional<LeaseEnvironment> lease_;
  std::optional<LeaseLedger> ledger_;
  std::mutex mutex_;
  std::vector<Cached> cached_;  // By device.
  Figure host_;

  std::atomic<bool> owns_lease_{false};
  std::mutex variables_mutex_;
  LeaseVariables variables_;
  ProgressPace pace_;
  std::mutex telling_;    // Held by the thread that tells of progress; nobody waits for it.
  std::mutex listening_;  // Held by the thread that listens; nobody waits for it.
  std::optional<Asks> asks_;
};

/// Resident memory of this process, from /proc; absent where that is not there.
std::optional<Bytes> host_memory_used();

/// How callers see it.
berth_figure to_c(const Figure& figure, Instant now);

/// What a caller gives in nanoseconds, as long as it can be.
Duration age_of(std::uint64_t ns);

/// Null where the handle is 0; false, with the error set, where it is no good.
bool find_session(berth_session handle, std::shared_ptr<Session>& found);  // Its handle has it too.

}  // namespace berth::library
