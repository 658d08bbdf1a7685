// SPDX-License-Identifier: Apache-2.0
// Identities of leases, devices, users and processes. Each is a type of its own; text forms are
// made and read here and nowhere else.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace berth {

/// The number of a request and of the lease it becomes: one sequence per state directory, never
/// reused. 0 is no lease.
struct LeaseId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const LeaseId&, const LeaseId&) = default;
};
std::string to_text(LeaseId id);

/// The random, unguessable name of a lease: "l_" and 26 letters of base32 (128 bits).
struct Handle {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const Handle&, const Handle&) = default;
};
std::string to_text(Handle handle);
std::optional<Handle> parse_handle(std::string_view text);

/// One connection of a client; never used twice.
struct ConnectionId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const ConnectionId&, const ConnectionId&) = default;
};

/// A GPU or a MIG slice of one, by UUID. CUDA ordinals and NVML indices differ; nothing is keyed by
/// them.
struct DeviceId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool mig = false;
  friend constexpr auto operator<=>(const DeviceId&, const DeviceId&) = default;
};
/// "GPU-5a1c0d2e-…" or "MIG-5a1c0d2e-…", as the driver writes it.
std::string to_text(DeviceId device);
std::optional<DeviceId> parse_device_id(std::string_view text);
/// The UUID alone, its first byte first.
std::array<std::uint8_t, 16> uuid_bytes(DeviceId device);

struct UserId {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(const UserId&, const UserId&) = default;
};

inline constexpr std::int32_t kPidMax = std::numeric_limits<std::int32_t>::max();

/// A process, identified by pid and start time (field 22 of /proc/PID/stat, clock ticks since
/// boot): pids come back, the pair does not within one boot.
struct Process {
  std::int32_t pid = 0;
  std::uint64_t start_ticks = 0;
  friend constexpr auto operator<=>(const Process&, const Process&) = default;
};
constexpr auto fields_of(Is<Process> auto*) {
  return fields(
      {"Process", "A process. Pids come back, the pair does not within one boot."},
      field("pid", &Process::pid, "As the daemon sees it: of the same PID namespace.")
          .required(side::kJournal | side::kBody)
          .from(1)
          .to(kPidMax),
      field("start_ticks", &Process::start_ticks, "Start time: field 22 of /proc/PID/stat.")
          .required(side::kJournal | side::kBody));
}

}  // namespace berth
