// SPDX-License-Identifier: Apache-2.0
// The ways in which a lease can be held to its budget, a file each. A way is given facts alone:
// whether it can be used here is judged from them, purely. Looking for the facts reads files and is
// for any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace berth::enforce {

/// One of our own libraries, as it is installed.
struct LibraryFacts {
  std::string path;     // Empty: it is not installed.
  std::string trouble;  // Why the dynamic linker will not take it; empty: it will.
};

/// NVIDIA's Multi-Process Service, as it is seen from outside.
struct MpsFacts {
  enum class Control : std::uint8_t {
    kMissing,    // No daemon has run there.
    kGone,       // Its socket is left, and nobody listens.
    kForbidden,  // Not for this user.
    kListens,
  };
  std::string socket;
  Control control = Control::kMissing;
};

/// The kernel's control group controller for the memory of devices.
struct DmemFacts {
  bool controller = false;
  std::vector<std::string> regions;  // Such as "drm/0000:03:00.0/vram0".
};

struct Facts {
  std::string machine;  // As uname tells it: "x86_64".
  std::string libc;     // The version of glibc.
  LibraryFacts guard;
  LibraryFacts audit;
  MpsFacts mps;
  std::optional<bool> driver_lists_processes;  // Absent: the driver was not asked.
  DmemFacts dmem;
};

struct Availability {
  bool available = false;
  std::string fact;
  std::string consequence;  // Of its not being available.
  std::string cure;         // A command; empty: there is none.
};

struct Backend {
  std::string_view name;  // "guard", "audit", "mps", "watchdog", "dmem"
  Availability (*look)(const Facts& facts);
};
/// All of them; those that hold most come first.
std::span<const Backend> backends();

// guard.cc: libraries in the programs themselves.

/// The path of a library of ours ("libberth-guard.so"), as it lies beside `own_path`, the program
/// `berth`; empty: it is not there.
std::string find_library(const std::string& own_path, std::string_view name);
inline constexpr std::string_view kGuardLibrary = "libberth-guard.so";
inline constexpr std::string_view kAuditLibrary = "libberth-audit.so";
LibraryFacts look_at_library(const std::string& own_path, std::string_view name);
Availability guard_availability(const Facts& facts);
Availability audit_availability(const Facts& facts);

// mps.cc: a limit that the driver keeps for each client of its service.

inline constexpr const char* kMpsPipes = "CUDA_MPS_PIPE_DIRECTORY";
inline constexpr const char* kMpsLimit = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT";
/// `pipes`: CUDA_MPS_PIPE_DIRECTORY; empty: it is not set.
MpsFacts look_at_mps(std::string_view pipes);
Availability mps_availability(const Facts& facts);
/// "0=8G,1=512M": budgets in the order in which the program sees its devices.
std::string mps_limits(std::span<const Bytes> budgets);

// watchdog.cc: the daemon compares what the driver measures. What it does then is decided in the
// coordinator.
Availability watchdog_availability(const Facts& facts);

// dmem.cc: the place for limits of the kernel. They are looked for, and not used yet.
DmemFacts look_at_dmem(const std::string& cgroups = "/sys/fs/cgroup");
Availability dmem_availability(const Facts& facts);

}  // namespace berth::enforce
