// SPDX-License-Identifier: Apache-2.0
#include "cli/run/words.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "cli/render/phrases.h"
#include "cli/run/devices.h"

namespace berth::cli {
namespace {

std::string lease_name(const LeaseView& lease) {
  return "lease " + to_text(lease.id);
}

// " (RTX 5080)", where all devices are of one known model.
std::string models_of(const Grant& grant) {
  std::vector<std::string_view> models;
  for (const LeasePart& part : grant.lease.parts) {
    const auto device = std::ranges::find(grant.devices, part.device, &DeviceView::id);
    if (device == grant.devices.end() || device->model.empty()) return {};
    models.push_back(device->model);
  }
  if (models.empty() || std::ranges::adjacent_find(models, std::not_equal_to()) != models.end()) {
    return {};
  }
  return " (" + std::string(models.front()) + ")";
}

Bytes smallest_budget(const LeaseView& lease) {
  Bytes smallest = Bytes::max();
  for (const LeasePart& part : lease.parts) smallest = std::min(smallest, part.granted);
  return smallest;
}

bool has_devices(const LeaseView& lease, const std::string& gpus) {
  const Result<DeviceChoice> choice = parse_device_choice(gpus);
  if (!choice.ok() || choice->count > lease.parts.size()) return false;
  return choice->names.empty() || intersection(lease.parts, *choice).size() == choice->count;
}

// "more than this GPU can grant (15.5 GiB)"
std::string more_than(Bytes largest, const LeaseView& lease) {
  const bool one = lease.parts.size() == 1;
  return std::string("more than ") + (one ? "this GPU" : "these GPUs") + " can grant (" +
         to_text(largest) + (one ? ")" : " each)");
}

// What follows from a refusal: the budget that would have allowed it, or that none would have.
std::string cure_text(const LeaseView& lease, const RefusedAllocation& last,
                      std::optional<Bytes> largest) {
  const Bytes needed = last.used + last.bytes;
  Bytes budget = budget_for(needed);
  if (largest) {
    const Bytes most{largest->value / mib(1).value * mib(1).value};  // As it can be written.
    if (needed > most) {
      return (last.bytes > most ? "" : "together ") + more_than(*largest, lease);
    }
    budget = std::min(budget, most);
  }
  return "-m " + size_argument(budget) + " would have allowed it";
}

std::string refused_text(const LeaseView& lease, const RefusedAllocation& last,
                         std::optional<Bytes> largest, std::uint64_t count) {
  std::string text = lease_name(lease) + " was refused " + to_text(last.bytes);
  if (last.after) text += " after " + to_text(*last.after);
  text += ", with " + to_text(last.used) + " of " + to_text(last.budget) + " in use";
  if (count > 1) text += " (the last of " + std::to_string(count) + " refusals)";
  return text + ": " + cure_text(lease, last, largest);
}

}  // namespace

std::string held_text(const LeaseView& lease) {
  const std::string devices = devices_of(lease.parts);
  const std::string size = to_text(smallest_budget(lease));
  if (lease.request.share == Share::kExclusive) return "all of " + devices + " (" + size + ")";
  return size + (lease.parts.size() > 1 ? " on each of " : " on ") + devices;
}

std::string granted_text(const Grant& grant) {
  const LeaseView& lease = grant.lease;
  const std::string models = models_of(grant);
  const bool said = models.find("simulated") != std::string::npos;
  std::string text = grant.simulated && !said ? "granted simulated " : "granted ";
  text += devices_of(lease.parts) + models + ", " + to_text(smallest_budget(lease));
  if (lease.parts.size() > 1) text += " on each";
  if (lease.request.share == Share::kExclusive) text += " and nobody else";
  text += ", " + lease_name(lease);
  if (lease.waited >= seconds(1)) text += ", after " + to_text(lease.waited);
  return text;
}

std::string leftovers_text(const LeaseView& lease) {
  if (lease.state != LeaseState::kHeld || lease.members.empty()) return {};
  const bool one = lease.members.size() == 1;
  return std::to_string(lease.members.size()) + (one ? " process of " : " processes of ") +
         lease_name(lease) + (one ? " still uses " : " still use ") + devices_of(lease.parts) +
         "; it stays held until " + (one ? "it ends" : "they end") + " (berth release --kill " +
         to_text(lease.id) + ")";
}

std::string too_much_text(const LeaseView& lease, const RequestOptions& options, Joining how) {
  const bool is_outer = how == Joining::kOuter;
  const std::string inside = (is_outer ? "you are inside " : "--lease: ") + lease_name(lease) +
                             " (" + held_text(lease) + ")";
  const std::string another = is_outer ? "--new-lease" : "another lease, without --lease";
  const std::string resize = ": berth resize " + to_text(lease.id);
  const bool exclusive = options.exclusive || options.share == "exclusive";
  if (options.vram && *options.vram > smallest_budget(lease)) {
    return inside + resize + " -m " + size_argument(*options.vram) + ", or " + another;
  }
  if (exclusive && lease.request.share != Share::kExclusive) {
    return inside + resize + " -x, or " + another;
  }
  if (options.gpus && !has_devices(lease, *options.gpus)) {
    return inside + ", which has no other GPUs: " + another + ", asks for more";
  }
  if (options.limit) {
    return inside + ", whose limit is its own: timeout(1) limits one command, or " + another;
  }
  return {};
}

std::optional<JoiningFault> fault_of_joining(const LeaseView& lease, UserId me) {
  const std::string name = lease_name(lease);
  const auto fault = [](wire::ExitCode code, std::string sentence) {
    return JoiningFault{code, std::move(sentence)};
  };
  if (lease.user != me) {
    return fault(wire::ExitCode::kNoPermission, "--lease: " + name + " is another user's");
  }
  switch (lease.state) {
    case LeaseState::kHeld:
      if (!lease.flags.unclaimed) return std::nullopt;
      [[fallthrough]];
    case LeaseState::kWaiting:
      return fault(
          wire::ExitCode::kTryLater,
          "--lease: " + name + " waits for its turn (berth why " + to_text(lease.id) + ")");
    case LeaseState::kSuspended:
      return std::nullopt;
    case LeaseState::kReleasing:
    case LeaseState::kEnded:
      break;
  }
  return fault(wire::ExitCode::kNoInput,
               "--lease: " + name + " has ended: berth reserve asks for another one");
}

std::string revoked_text(const LeaseView& lease, const RenderContext& context) {
  const std::string told = "; its command was told to end";
  if (lease.result == EndResult::kLimit && lease.request.limit) {
    return lease_name(lease) + " has reached its limit of " + to_text(*lease.request.limit) + told;
  }
  if (lease.result == EndResult::kOverBudget) {
    // What it uses may be gone by the time that this is read.
    return lease_name(lease) + " was above its budget of " + to_text(granted_to(lease)) +
           " for too long" + told;
  }
  return lease_name(lease) + " was cancelled" + by_whom(lease.ended_by, context) + told;
}

std::string detached_text(const LeaseView& lease, const RenderContext& context) {
  return lease_name(lease) + " was released" + by_whom(lease.ended_by, context) +
         "; its command runs on without a lease, and no GPU memory is kept for it";
}

std::string requeuing_text(const LeaseView& lease, const RenderContext& context) {
  const std::string who = by_whom(lease.requeued_by, context);
  return lease_name(lease) + " is stopped" + who + ", to wait in the queue and be started again";
}

std::string retry_text(const LeaseView& before, const LeaseView& after, const ExitStatus& exit,
                       const RenderContext& context) {
  const Retry next = next_attempt_of(after).value_or(Retry{});
  const Retries had = before.retries.value_or(Retries{});
  const std::string command = lease_name(before) + ": its command ";
  if (next.vram && !had.grown) {
    return command + "ran out of memory with " + to_text(smallest_budget(before)) +
           "; it is started again, once, with " + to_text(*next.vram);
  }
  const std::uint32_t number = before.request.retry_max - had.left + 1;
  return command + "ended " + exit_text(exit) + "; retry " + std::to_string(number) + " of " +
         std::to_string(before.request.retry_max) + " in " +
         to_text(std::max(between(context.now, next.not_before), Duration{}));
}

std::string above_budget_text(const LeaseView& lease) {
  const auto used = used_by(lease);
  std::string text = lease_name(lease) + " uses " + (used ? to_text(*used) : "more") +
                     ", above its budget of " + to_text(granted_to(lease));
  if (lease.request.over_budget == OverBudget::kKill) {
    text += "; it is ended for that unless it uses less soon (--over-budget kill)";
  } else if (lease.request.over_budget == OverBudget::kSuspend) {
    text += "; it is suspended for that unless it uses less soon (--over-budget suspend)";
  }
  return text;
}

std::string measure_text(const LeaseView& lease) {
  if (lease.measures.empty()) return {};
  const MeasureTaken& taken = lease.measures.back();
  const std::string word(to_text(taken.measure));
  if (taken.outcome == MeasureOutcome::kConfirmed) return {};
  if (taken.outcome) {
    // How a save went is told by the save.
    if (taken.measure == Measure::kCheckpoint && taken.outcome == MeasureOutcome::kFailed)
      return {};
    const bool refused = taken.outcome == MeasureOutcome::kRefused;
    return lease_name(lease) + ": " + word + (refused ? " is not possible" : " failed") +
           (taken.detail.empty() ? "" : ": " + taken.detail);
  }
  const std::string why = taken.cause == Cause::kUnmanaged
                              ? ", because programs without a lease have taken its GPU's memory"
                              : ", because it is above its budget";
  if (taken.measure == Measure::kSuspend) return lease_name(lease) + " is to be suspended" + why;
  if (taken.measure == Measure::kRequeue) return lease_name(lease) + " is to be requeued" + why;
  return {};
}

std::string pressure_text(const LeaseView& lease) {
  const bool at_rest = lease.pressure == Pressure::kWarn && !lease.full_in;
  // A lease that has a GPU to itself may fill it.
  const bool alone = lease.request.share == Share::kExclusive;
  // What is above the budget was told as such.
  const bool told = lease.flags.over_budget;
  if (lease.pressure == Pressure::kNormal || at_rest || alone || told) return {};
  const LeasePart* fullest = nullptr;
  const auto use_of = [](const LeasePart& part) {
    return std::max(part.used.value_or(Bytes{}), part.ledger.value_or(Bytes{}));
  };
  for (const LeasePart& part : lease.parts) {
    if (fullest == nullptr || use_of(part) > use_of(*fullest)) fullest = &part;
  }
  if (fullest == nullptr || use_of(*fullest) == Bytes{}) return {};
  std::string text = lease_name(lease) + " uses " + to_text(use_of(*fullest)) + " of " +
                     to_text(fullest->granted) + (lease.parts.size() > 1 ? " on a GPU" : "");
  if (lease.pressure == Pressure::kCritical) text += ", almost all of its budget";
  if (lease.full_in)
    text += ", and in about " + to_text(*lease.full_in) + " all of it at this rate";
  return text;
}

std::string peak_text(const LeaseView& lease, const Refusals& refusals) {
  Bytes peak;
  std::uint64_t refused = 0;
  for (const LeasePart& part : lease.parts) {
    peak = std::max(peak, part.peak.value_or(Bytes{}));
    refused += part.refused.value_or(0);
  }
  if (peak == Bytes{}) return {};
  const Bytes budget = smallest_budget(lease);
  std::string of_budget = lease_name(lease) + " peaked at " + to_text(peak) + " of " +
                          to_text(budget) + (lease.parts.size() > 1 ? " on a GPU" : "");
  const Bytes enough = budget_for(peak);
  if (lease.request.share == Share::kExclusive) {
    const bool leaves_much = enough < budget && budget.value - enough.value >= gib(1).value;
    if (!leaves_much) return refused > 0 ? of_budget + ", all that there was" : "";
    return of_budget + ": -m " + size_argument(enough) + " would be enough";
  }
  if (refused > 0 && refusals.last) {
    return refused_text(lease, *refusals.last, refusals.largest, refused);
  }
  if (refused > 0) {
    const bool all = refusals.largest && budget >= *refusals.largest;
    return of_budget + ", and " + counted(refused, "allocation") +
           (refused == 1 ? " was" : " were") + " refused: " +
           (all ? "there was need for " + more_than(*refusals.largest, lease) : "try a larger -m");
  }
  if (lease.request.learned) return {};  // It is what such runs use.
  if (peak.value >= budget.value / 100 * 88) return of_budget;
  const bool leaves_much =
      enough.value < budget.value / 4 * 3 && budget.value - enough.value >= gib(1).value;
  return leaves_much ? of_budget + ": -m " + size_argument(enough) + " would be enough" : "";
}

}  // namespace berth::cli
