// SPDX-License-Identifier: Apache-2.0
// Steps from what runs of a plan to what the plan says. Decides, and does nothing. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/words.h"
#include "cli/plan/plan_file.h"
#include "model/lease.h"

namespace berth::cli {

// By these labels the leases of a plan are found again.
inline constexpr std::string_view kPlanLabel = "berth.plan";
inline constexpr std::string_view kDefinitionLabel = "berth.definition";

/// What stands in the first of them, for the file at that path.
std::string plan_label(const std::string& path);

/// By session, the youngest lease of each; of a set of jobs the set. Of this user alone: anybody
/// may give their leases these labels.
using PlanLeases = std::map<std::string, LeaseView, std::less<>>;
PlanLeases leases_of_plan(const std::vector<LeaseView>& all, UserId user, const std::string& label);

struct UpStep {
  enum class What : std::uint8_t {
    kGoesOn,  // As the plan has it.
    kIsDone,  // It has ended well.
    kStart,
    kReplace,  // What waits or runs is another definition of it.
  };
  What what = What::kStart;
  const PlannedSession* session = nullptr;  // Of the plan.
  std::optional<LeaseId> lease;             // What there is of it, if that counts.
  friend bool operator==(const UpStep&, const UpStep&) = default;
};

constexpr auto words_of(UpStep::What) {
  using enum UpStep::What;
  return make_words<UpStep::What>(
      {{kGoesOn, "goes_on"}, {kIsDone, "is_done"}, {kStart, "start"}, {kReplace, "replace"}});
}

struct Wanted {
  std::set<std::string> sessions = {};  // And those that they come after; empty: all.
  bool again = false;                   // Also what has ended well, of those that are named.
};

/// In the order in which they are to be taken.
std::vector<UpStep> up_steps(const Plan& plan, const PlanLeases& leases, const Wanted& wanted);

}  // namespace berth::cli
