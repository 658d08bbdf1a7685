// SPDX-License-Identifier: Apache-2.0
#include "server/deeds.h"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/quantity.h"

namespace berth::server {
namespace {

/// What a record says that was done; the rest follows from the lease.
struct Told {
  Verb verb = Verb::kGrant;
  std::optional<UserId> by = {};
  std::string reason = {};
};

/// Who has asked for this step, and of which lease.
struct Asker {
  LeaseId lease;
  std::optional<UserId> user = {};
};

Asker asker_of(const core::Event& event) {
  return std::visit(
      [](const auto& what) -> Asker {
        if constexpr (requires {
                        what.actor.user;
                        what.lease;
                      }) {
          return {what.lease, what.actor.user};
        } else {
          return {};
        }
      },
      event);
}

std::string size_of(const std::vector<Part>& parts) {
  Bytes sum;
  for (const Part& part : parts) sum += part.budget;
  return to_text(sum) + (parts.size() == 1 ? "" : " on " + std::to_string(parts.size()) + " GPUs");
}

std::string pause_reason(const LeasePaused& fact, UnixMs now) {
  std::string text = fact.reason;
  if (fact.until_wall) {
    const Duration lasts = milliseconds(fact.until_wall->value - now.value);
    text += (text.empty() ? "for " : ", for ") + to_text(lasts);
  }
  return text;
}

std::optional<Told> told_by(const LeaseRevoked& fact) {
  switch (fact.result) {
    case EndResult::kCancelled:
      return Told{Verb::kCancel, fact.by};
    case EndResult::kLimit:
      return Told{Verb::kLimit};
    default:
      return std::nullopt;  // Told by the measure, or by the end of its command.
  }
}

std::optional<Told> told_by(const LeaseReleasing& fact) {
  if (fact.result == EndResult::kDetached) return Told{Verb::kDetach, fact.by};
  const bool is_released = fact.by && fact.result != EndResult::kCancelled;
  return is_released ? std::optional(Told{Verb::kRelease, fact.by}) : std::nullopt;
}

std::optional<Told> told_by(const SuspendBegun& fact) {
  if (!fact.yields_to) return std::nullopt;
  return Told{Verb::kPreempt, {}, "for lease " + std::to_string(fact.yields_to->value)};
}

std::optional<Told> told_by(const MeasureBegun& fact) {
  const bool harmless = fact.measure == Measure::kNotify || fact.measure == Measure::kCleanup;
  if (harmless) return std::nullopt;
  return Told{Verb::kMeasure,
              {},
              std::string(to_text(fact.measure)) + ": " + std::string(to_text(fact.cause))};
}

std::optional<Told> told_by(const CheckpointAsked& fact, const std::optional<UserId>& asker) {
  const bool is_asked = fact.reason == CheckpointReason::kAsked;
  return is_asked ? std::optional(Told{Verb::kCheckpoint, asker}) : std::nullopt;
}

std::optional<Told> told(const Record& record, const std::optional<UserId>& asker) {
  return std::visit(
      [&](const auto& fact) -> std::optional<Told> {
        using T = std::decay_t<decltype(fact)>;
        if constexpr (std::is_same_v<T, LeaseGranted>) {
          return Told{Verb::kGrant, {}, size_of(fact.parts)};
        } else if constexpr (std::is_same_v<T, LeaseEnded>) {
          return Told{Verb::kEnd, fact.by, std::string(to_text(fact.result))};
        } else if constexpr (std::is_same_v<T, LeasePaused>) {
          return Told{Verb::kPause, fact.by, pause_reason(fact, record.wall)};
        } else if constexpr (std::is_same_v<T, LeaseMoved>) {
          return Told{Verb::kMove, fact.by};
        } else if constexpr (std::is_same_v<T, LeaseResized>) {
          return Told{Verb::kResize, asker, size_of(fact.parts)};
        } else if constexpr (std::is_same_v<T, RequeueAsked>) {
          return Told{Verb::kRequeue, asker};
        } else if constexpr (std::is_same_v<T, LeaseRenewed>) {
          return Told{Verb::kRenew, asker};
        } else if constexpr (std::is_same_v<T, ResumeQueued>) {
          return fact.queued && asker ? std::optional(Told{Verb::kResume, asker}) : std::nullopt;
        } else if constexpr (std::is_same_v<T, CheckpointAsked>) {
          return told_by(fact, asker);
        } else if constexpr (requires { told_by(fact); }) {
          return told_by(fact);
        } else {
          return std::nullopt;
        }
      },
      record.fact);
}

LeaseId lease_of(const Fact& fact) {
  return std::visit(
      [](const auto& what) -> LeaseId {
        if constexpr (requires { LeaseId{what.id}; }) {
          return what.id;
        } else {
          return {};
        }
      },
      fact);
}

std::string places_of(const LeaseView& lease) {
  std::string text = "to GPU ";
  for (const LeasePart& part : lease.parts) {
    if (&part != &lease.parts.front()) text += ", ";
    text += part.index ? std::to_string(*part.index) : to_text(part.device);
  }
  return text;
}

Deed deed(Told told, UnixMs at, LeaseId id, const LeaseLookup& lookup) {
  Deed deed{
      .at = at, .verb = told.verb, .by = told.by, .lease = id, .reason = std::move(told.reason)};
  if (const std::optional<LeaseView> lease = lookup(id)) {
    deed.owner = lease->user;
    deed.name = lease->request.name;
    if (deed.verb == Verb::kMove) deed.reason = places_of(*lease);
  }
  return deed;
}

}  // namespace

std::vector<Deed> deeds_of(const StepTaken& step, const LeaseLookup& lookup) {
  std::vector<Deed> deeds;
  const Asker asker = asker_of(step.event);
  for (const Record& record : step.records) {
    const LeaseId id = lease_of(record.fact);
    const std::optional<UserId> by = id == asker.lease ? asker.user : std::nullopt;
    if (std::optional<Told> what = told(record, by)) {
      deeds.push_back(deed(*std::move(what), step.at, id, lookup));
    }
  }
  if (!std::holds_alternative<core::Resume>(step.event)) return deeds;
  // That what was stopped goes on is written down when it does.
  for (const core::Effect& effect : step.effects) {
    const auto* move = std::get_if<core::MoveMemory>(&effect);
    if (move == nullptr || move->direction != Direction::kGo || move->lease != asker.lease)
      continue;
    deeds.push_back(deed({Verb::kResume, asker.user}, step.at, asker.lease, lookup));
  }
  return deeds;
}

std::string log_line(const Deed& deed, const std::function<std::string(UserId)>& name_of) {
  const auto named = [&](UserId user) {
    const std::string name = name_of(user);
    return name.empty() ? "uid " + std::to_string(user.value) : name;
  };
  std::string line(to_text(deed.verb));
  if (deed.lease != LeaseId{}) {
    line += " lease " + std::to_string(deed.lease.value) + " (" + named(deed.owner);
    line += (deed.name.empty() ? "" : "/" + deed.name) + ")";
  }
  if (deed.by) line += " by " + named(*deed.by);
  return deed.reason.empty() ? line : line + ": " + deed.reason;
}

}  // namespace berth::server
