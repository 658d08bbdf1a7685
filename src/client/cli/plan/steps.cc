// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/steps.h"

#include <algorithm>
#include <ranges>

#include "base/fnv1a.h"

namespace berth::cli {
namespace {

std::string_view label_of(const LeaseView& lease, std::string_view key) {
  const auto& labels = lease.request.labels;
  const auto found = labels.find(std::string(key));
  return found == labels.end() ? std::string_view() : found->second;
}

/// Those that are named, and what they come after.
std::set<std::string> with_predecessors(const Plan& plan, const Wanted& wanted) {
  std::set<std::string> all = wanted.sessions;
  for (const PlannedSession& session : plan.sessions | std::views::reverse) {
    if (wanted.sessions.empty()) all.insert(session.name);
    if (!all.contains(session.name)) continue;
    for (const auto& after : session.after) all.insert(after.session);
  }
  return all;
}

}  // namespace

std::string plan_label(const std::string& path) {
  return std::to_string(fnv1a(path));
}

PlanLeases leases_of_plan(const std::vector<LeaseView>& all, UserId user,
                          const std::string& label) {
  PlanLeases found;
  for (const LeaseView& lease : all) {
    const bool is_member = lease.request.member.has_value();
    if (is_member || lease.user != user || label_of(lease, kPlanLabel) != label) continue;
    const auto [at, is_new] = found.try_emplace(lease.request.name, lease);
    if (!is_new && at->second.id < lease.id) at->second = lease;
  }
  return found;
}

std::vector<UpStep> up_steps(const Plan& plan, const PlanLeases& leases, const Wanted& wanted) {
  using What = UpStep::What;
  std::vector<UpStep> steps;
  std::set<std::string> started;
  const std::set<std::string> chosen = with_predecessors(plan, wanted);
  for (const PlannedSession& session : plan.sessions) {
    if (!chosen.contains(session.name)) continue;
    UpStep step{.session = &session};
    if (const auto found = leases.find(session.name); found != leases.end()) {
      const LeaseView& lease = found->second;
      const bool is_same = label_of(lease, kDefinitionLabel) == session.fingerprint();
      const bool is_over = lease.state == LeaseState::kEnded;
      const bool is_named = wanted.sessions.empty() || wanted.sessions.contains(session.name);
      // What it came after is made anew.
      const bool is_stale = std::ranges::any_of(
          session.after, [&](const auto& after) { return started.contains(after.session); });
      const bool is_done = is_over && is_same && lease.result == EndResult::kOk && !is_stale &&
                           !(wanted.again && is_named);
      if (!is_over) step.what = is_same ? What::kGoesOn : What::kReplace;
      if (is_done) step.what = What::kIsDone;
      if (!is_over || is_done) step.lease = lease.id;
    }
    if (step.what == What::kStart || step.what == What::kReplace) started.insert(session.name);
    steps.push_back(step);
  }
  return steps;
}

}  // namespace berth::cli
