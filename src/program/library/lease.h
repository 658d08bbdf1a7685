// SPDX-License-Identifier: Apache-2.0
// The lease that this process runs in: what `berth run` has told in the environment, and what the
// two files say that the guard and the daemon share. It asks no daemon. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"

namespace berth::library {

/// BERTH_LEASE_ID and what comes with it. Whether it lasts, the daemon knows: Daemon::held().
struct LeaseEnvironment {
  std::string handle;           // BERTH_LEASE_ID
  std::uint64_t number = 0;     // BERTH_LEASE; 0: not told.
  std::string directory;        // BERTH_LEASE_DIR; empty: there is no guard.
  std::optional<Bytes> budget;  // BERTH_VRAM_BYTES, of each device.
  std::string socket;           // BERTH_SOCKET
  std::vector<DeviceId> gpus;   // BERTH_GPUS, in the order in which programs see them.
};
/// Absent: it runs in no lease.
std::optional<LeaseEnvironment> lease_of_environment();

struct LeaseFigures {
  std::optional<Bytes> budget;
  std::optional<Bytes> used;  // Absent where no program of the lease has a guard.
};

/// The files `limit` and `use`, mapped for reading.
class LeaseLedger {
 public:
  static Result<LeaseLedger> open(const std::string& directory);
  /// Of one device, absent where the lease does not have it, or its files are damaged by now.
  std::optional<LeaseFigures> figures(DeviceId device) const;

 private:
  struct Mapping {
    Mapping(void* begin, std::size_t length) : at(begin), bytes(length) {}
    ~Mapping();
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    void* at;
    std::size_t bytes;
  };
  static Result<std::unique_ptr<Mapping>> map(const std::string& path);
  bool is_there() const;
  LeaseLedger(std::unique_ptr<Mapping> limit, std::unique_ptr<Mapping> use);

  std::unique_ptr<Mapping> limit_;
  std::unique_ptr<Mapping> use_;
  std::uint32_t device_count_ = 0;
};

}  // namespace berth::library
