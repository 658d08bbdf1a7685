// SPDX-License-Identifier: Apache-2.0
// Choice of the way of enforce/ that holds a command to its budget, and the variables that the
// command is given for that. Reads files; changes nothing.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/run/guard.h"
#include "config/config.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

using Enforce = config::Enforce;

struct EnforcementInput {
  Enforce mode = Enforce::kAuto;
  GuardInput guard;
  const GuardLook& look;
  const std::vector<LeasePart>& visible;  // Of the lease: in the order in which they are seen.
  std::span<const DeviceView> devices;    // As far as they are known.
  std::string_view mps_pipes;             // CUDA_MPS_PIPE_DIRECTORY
  bool simulated = false;
};

struct EnforcementPlan {
  std::map<std::string, std::string> set;  // Variables of the command.
  std::string remark;   // What should be known of how it is held, or is not; may be empty.
  std::string refusal;  // Not empty: what was asked for cannot be had here.
};
EnforcementPlan plan_enforcement(const EnforcementInput& input);

/// What shall become of the lease if it uses more than its budget: as said, else as configured.
/// kInvalid where that does not go together with how it is held.
Result<OverBudget> plan_over_budget(std::optional<OverBudget> said, const config::Config& config,
                                    Enforce mode);

}  // namespace berth::cli
