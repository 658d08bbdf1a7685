// SPDX-License-Identifier: Apache-2.0
// The variables that a command gets for its lease. What a daemon says is not trusted further than
// needed: no paths, no libraries, only names and values of the known kind. Reads the environment of
// this process; changes nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cli/supervise/command.h"
#include "wire/lease.h"

namespace berth::cli {

/// The lease that this process runs inside of, as its environment has it.
struct OuterLease {
  std::string handle_text;         // BERTH_LEASE_ID
  std::optional<Handle> handle;    // Absent: the text is no handle.
  std::vector<LeaseId> ancestors;  // The lease and those around it, innermost first.
};
std::optional<OuterLease> outer_lease();

/// Of "NAME=value": what is there because this process runs inside of a lease, and is about that.
bool is_of_lease(std::string_view variable);

struct VariablesInput {
  const wire::LeaseAnswer& lease;             // The answer to a claim or join.
  std::string socket;                         // Of the daemon.
  std::vector<LeaseId> outer;                 // Leases around this one, innermost first.
  std::optional<std::string> library_path;    // LD_LIBRARY_PATH, where it is to be set.
  std::optional<std::string> preset_devices;  // A CUDA_VISIBLE_DEVICES that the user set.
};
struct Variables {
  VariableChanges changes;
  std::vector<LeasePart> visible;  // Of the lease, in the order in which the command sees them.
  std::string narrowed;  // A sentence, where `preset_devices` leaves out devices of the lease.
};
/// kInvalid: `preset_devices` leaves no device of the lease.
Result<Variables> variables_for(const VariablesInput& input);

/// LD_LIBRARY_PATH as it is here, with the simulated driver that BERTH_SIM asks for in front.
/// `own_path`: of `berth`.
std::string library_path_with_simulated_driver(const std::string& own_path);

/// CUDA_VISIBLE_DEVICES, unless it comes from the lease that we run inside of.
std::optional<std::string> preset_visible_devices();

}  // namespace berth::cli
