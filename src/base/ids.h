// SPDX-License-Identifier: Apache-2.0
// Identities of leases, devices, users and processes. Each is a type of its own; text forms are
// made and read here and nowhere else.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// The number of a request and of the lease it becomes: one sequence per state directory, never
/// reused. 0 is no lease.
struct LeaseId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const LeaseId&, const LeaseId&) = default;
};

/// The random, unguessable name of a lease: "l_" and 26 letters of base32 (128 bits).
struct Handle {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const Handle&, const Handle&) = default;
};
std::string to_text(Handle handle);
std::optional<Handle> parse_handle(std::string_view text);

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

/// A process, identified by pid and start time (field 22 of /proc/PID/stat, clock ticks since
/// boot): pids come back, the pair does not within one boot.
struct Process {
  std::int32_t pid = 0;
  std::uint64_t start_ticks = 0;
  friend constexpr auto operator<=>(const Process&, const Process&) = default;
};

}  // namespace berth
