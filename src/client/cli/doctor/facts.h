// SPDX-License-Identifier: Apache-2.0
// Facts that the doctor looks at, as plain data: gathering them is one thing, judging them another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "cli/doctor/log_out.h"
#include "enforce/backend.h"
#include "model/view.h"
#include "wire/daemon.h"

namespace berth::cli {

/// A file that a lock-file loop made.
struct LockFile {
  std::string path;
  Duration age;
  bool held = false;  // It is locked, or a pid in it lives, or who could look may not.
};

struct DirectoryFacts {
  std::string path;
  bool exists = false;
  UserId owner;
  std::uint32_t mode = 0;  // As of stat(2), permissions only.
  std::optional<bool> on_network;
  bool own_file_system = false;
  std::optional<Bytes> free;
};

/// The library that programs use.
struct LibberthFacts {
  std::string beside;   // Where it belongs to this program; empty: it is not there.
  std::string found;    // Where programs find it by its name; empty: nowhere.
  std::string version;  // Of that one.
};

struct ShellFacts {
  std::string name;  // "bash"; empty: unknown.
  bool completion_installed = false;
};

struct DoctorFacts {
  // Of the daemon. `daemon` and `daemon_error` are both empty if none runs and none was started.
  std::optional<wire::DaemonView> daemon;
  std::string daemon_error;
  bool lacks_group = false;  // That is why: the system's socket is for its group.
  bool daemon_in_other_pid_namespace = false;
  std::vector<DeviceView> devices;
  std::vector<std::string> quarantined;  // Files of the state directory.

  // Of the machine.
  UserId me;
  std::string version;                        // Of this program.
  std::vector<std::string> missing_programs;  // That should stand beside this one.
  DirectoryFacts runtime;
  DirectoryFacts state;
  DirectoryFacts leases;              // Their files.
  std::uint64_t descriptors_max = 0;  // The hard limit.
  bool in_container = false;
  enforce::Facts enforcement;
  LibberthFacts libberth;
  LogOutFacts log_out;

  // Of the user.
  std::string configuration_error;  // Empty: in order.
  std::string cuda_device_order;
  std::string allocator_settings;  // Of PyTorch.
  std::string allocator_variable;  // The name of the variable that has them.
  std::string lock_prefix;         // What lock files begin with.
  std::vector<LockFile> lock_files;
  ShellFacts shell;
};

}  // namespace berth::cli
