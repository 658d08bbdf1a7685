// SPDX-License-Identifier: Apache-2.0
#include "server/audit.h"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/quantity.h"

namespace berth::server {
namespace {

/// What a record says that was done; the rest follows from the lease.
struct Action {
  Verb verb = Verb::kGrant;
  std::optional<UserId> by = {};
  std::string reason = {};
  std::optional<LeaseId> whom = {};  // Done for this one.
};

/// Who has asked for this step, and of which lease.
struct Requester {
  LeaseId lease;
  std::optional<UserId> user = {};
};

Requester requester_of(const core::Event& event) {
  return std::visit(
      [](const auto& what) -> Requester {
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

// "priority high, 4.0 GiB"
std::string text_of(const RequestEdit& edit) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (edit.name) add("name " + *edit.name);
  if (edit.priority) add("priority " + std::string(to_text(*edit.priority)));
  if (edit.share) add(std::string(to_text(*edit.share)));
  if (edit.vram) add(to_text(*edit.vram));
  if (edit.eta) add("eta " + to_text(*edit.eta));
  if (edit.limit) add("limit " + to_text(*edit.limit));
  if (edit.not_before) add("not before " + to_text(*edit.not_before));
  if (edit.command) add("another command");
  return text;
}

std::optional<Action> action_of(const LeaseRevoked& fact) {
  switch (fact.result) {
    case EndResult::kCancelled:
      return Action{Verb::kCancel, fact.by};
    case EndResult::kLimit:
      return Action{Verb::kLimit};
    default:
      return std::nullopt;  // Action by the measure, or by the end of its command.
  }
}

std::optional<Action> action_of(const LeaseReleasing& fact) {
  if (fact.result == EndResult::kDetached) return Action{Verb::kDetach, fact.by};
  const bool is_released = fact.by && fact.result != EndResult::kCancelled;
  return is_released ? std::optional(Action{Verb::kRelease, fact.by}) : std::nullopt;
}

std::optional<Action> action_of(const SuspendBegun& fact) {
  if (!fact.yields_to) return std::nullopt;
  return Action{.verb = Verb::kPreempt, .whom = fact.yields_to};
}

std::optional<Action> action_of(const MessageSent& fact) {
  return Action{Verb::kMessage, fact.from, fact.text};
}

std::optional<Action> action_of(const MessageAnswered& fact) {
  const std::string answer(to_text(fact.answer));
  return Action{Verb::kAnswer, fact.by, answer + (fact.why.empty() ? "" : ": " + fact.why)};
}

std::optional<Action> action_of(const MeasureBegun& fact) {
  const bool is_harmless = fact.measure == Measure::kNotify || fact.measure == Measure::kCleanup;
  if (is_harmless) return std::nullopt;
  return Action{Verb::kMeasure,
                {},
                std::string(to_text(fact.measure)) + ": " + std::string(to_text(fact.cause))};
}

std::optional<Action> action_of(const CheckpointAsked& fact,
                                const std::optional<UserId>& requester) {
  const bool is_asked = fact.reason == CheckpointReason::kAsked;
  return is_asked ? std::optional(Action{Verb::kCheckpoint, requester}) : std::nullopt;
}

// "not before 2026-02-07T18:30:10Z", "with 8.0 GiB, since it ran out of memory"
std::optional<Action> action_of(const LeaseRequeued& fact) {
  if (!fact.retry) return std::nullopt;
  return Action{Verb::kRetry,
                {},
                fact.retry->vram
                    ? "with " + to_text(*fact.retry->vram) + ", since it ran out of memory"
                    : "not before " + to_text(fact.retry->not_before)};
}

std::optional<Action> action_in(const Record& record, const std::optional<UserId>& requester) {
  return std::visit(
      [&](const auto& fact) -> std::optional<Action> {
        using T = std::decay_t<decltype(fact)>;
        if constexpr (std::is_same_v<T, LeaseGranted>) {
          return Action{Verb::kGrant, {}, size_of(fact.parts)};
        } else if constexpr (std::is_same_v<T, LeaseEnded>) {
          return Action{Verb::kEnd, fact.by, std::string(to_text(fact.result))};
        } else if constexpr (std::is_same_v<T, LeasePaused>) {
          return Action{Verb::kPause, fact.by, pause_reason(fact, record.wall)};
        } else if constexpr (std::is_same_v<T, LeaseMoved>) {
          return Action{Verb::kMove, fact.by};
        } else if constexpr (std::is_same_v<T, LeaseResized>) {
          return Action{Verb::kResize, requester, size_of(fact.parts)};
        } else if constexpr (std::is_same_v<T, RequestOnHold>) {
          return Action{fact.on_hold ? Verb::kHold : Verb::kUnhold, fact.by, fact.reason};
        } else if constexpr (std::is_same_v<T, RequestEdited>) {
          return Action{Verb::kEdit, fact.by, text_of(fact.edit)};
        } else if constexpr (std::is_same_v<T, RequeueAsked>) {
          return Action{Verb::kRequeue, requester};
        } else if constexpr (std::is_same_v<T, LeaseRenewed>) {
          // A reservation that is granted begins to expire, which nobody asked for.
          return requester ? std::optional(Action{Verb::kRenew, requester}) : std::nullopt;
        } else if constexpr (std::is_same_v<T, ResumeQueued>) {
          return fact.queued && requester ? std::optional(Action{Verb::kResume, requester})
                                          : std::nullopt;
        } else if constexpr (std::is_same_v<T, CheckpointAsked>) {
          return action_of(fact, requester);
        } else if constexpr (OnlyTold<T>) {
          return Action{T::kVerb, {}, fact.reason()};
        } else if constexpr (requires { action_of(fact); }) {
          return action_of(fact);
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

std::string paths_of(const LeaseView& lease) {
  std::string text = "to GPU ";
  for (const LeasePart& part : lease.parts) {
    if (&part != &lease.parts.front()) text += ", ";
    text += part.index ? std::to_string(*part.index) : to_text(part.device);
  }
  return text;
}

AuditEntry entry(Action told, UnixMs at, LeaseId id, const LeaseLookup& lookup) {
  AuditEntry entry{
      .at = at, .verb = told.verb, .by = told.by, .lease = id, .reason = std::move(told.reason)};
  if (const std::optional<LeaseView> lease = lookup(id)) {
    entry.owner = lease->user;
    entry.name = lease->request.name;
    if (entry.verb == Verb::kMove) entry.reason = paths_of(*lease);
  }
  const std::optional<LeaseView> other = told.whom ? lookup(*told.whom) : std::nullopt;
  if (other) entry.whom = {other->id, other->user, other->request.name};
  return entry;
}

template <class... Facts>
bool is_told_by(Verb verb, const std::variant<Facts...>* /*type*/) {
  const auto tells = [&]<class T>(const T* /*type*/) {
    if constexpr (OnlyTold<T>) return T::kVerb == verb;
    return false;
  };
  return (tells(static_cast<const Facts*>(nullptr)) || ...);
}

std::string user_text(UserId user, const UserNaming& name_of) {
  const std::string name = name_of(user);
  return name.empty() ? "uid " + std::to_string(user.value) : name;
}

// "lease 12 (alice/train)"
std::string lease_text(const Beneficiary& lease, const UserNaming& name_of) {
  return "lease " + std::to_string(lease.lease.value) + " (" + user_text(lease.user, name_of) +
         (lease.name.empty() ? "" : "/" + lease.name) + ")";
}

}  // namespace

std::vector<AuditEntry> audit_of(const StepTaken& step, const LeaseLookup& lookup) {
  std::vector<AuditEntry> audit;
  const Requester requester = requester_of(step.event);
  for (const Record& record : step.records) {
    const LeaseId id = lease_of(record.fact);
    const std::optional<UserId> by = id == requester.lease ? requester.user : std::nullopt;
    if (std::optional<Action> what = action_in(record, by)) {
      audit.push_back(entry(*std::move(what), step.at, id, lookup));
    }
  }
  if (!std::holds_alternative<core::Resume>(step.event)) return audit;
  // That what was stopped goes on is written down when it does.
  for (const core::Effect& effect : step.effects) {
    const auto* move = std::get_if<core::Transfer>(&effect);
    if (move == nullptr || move->direction != Direction::kThaw || move->lease != requester.lease)
      continue;
    audit.push_back(entry({Verb::kResume, requester.user}, step.at, requester.lease, lookup));
  }
  return audit;
}

bool is_only_told(Verb verb) {
  return is_told_by(verb, static_cast<const AnyFact*>(nullptr));
}

std::string log_line(const AuditEntry& entry, const UserNaming& name_of) {
  std::string line(to_text(entry.verb));
  if (entry.lease != LeaseId{}) {
    line += " " + lease_text({entry.lease, entry.owner, entry.name}, name_of);
  }
  if (entry.by) line += " by " + user_text(*entry.by, name_of);
  const std::string reason = reason_of(entry, name_of);
  return reason.empty() ? line : line + ": " + reason;
}

std::string reason_of(const AuditEntry& entry, const UserNaming& name_of) {
  return entry.whom ? "for " + lease_text(*entry.whom, name_of) : entry.reason;
}

}  // namespace berth::server
