// SPDX-License-Identifier: Apache-2.0
#include "cli/render/halts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/quantity.h"
#include "cli/render/phrases.h"

namespace berth::cli {
namespace {

std::string by_whom_paused(const LeaseView& lease, const RenderContext& context) {
  return lease.pause ? by_whom(lease.pause->by, context) : std::string();
}

std::string given_reason(const LeaseView& lease, const RenderContext& context) {
  if (!lease.pause || lease.pause->reason.empty()) return {};
  return ": " + escape_control(lease.pause->reason, context.charset);
}

std::string when_it_goes_on(const LeaseView& lease, const RenderContext& context) {
  const bool ends = lease.pause && lease.pause->until;
  if (!ends) return {};
  const std::string when = about(lease.pause->until.value_or(UnixMs{}), context);
  return when.starts_with('~') ? "it goes on in " + when : "it goes on " + when;
}

// "lease 9 (anna/urgent, priority urgent)"
std::string beneficiary(const Halt& halt, const RenderContext& context) {
  return "lease " + to_text(halt.lease.value_or(LeaseId{})) + " (" +
         session_of(halt.user, halt.name, context) + ", priority " +
         std::string(to_text(halt.priority)) + ")";
}

std::string idle_before(const Halt& halt) {
  return halt.idle ? ", after it was idle for " + age_text(*halt.idle) : "";
}

std::string back_when(const Halt& halt) {
  return "it comes back when " + to_text(halt.lease.value_or(LeaseId{})) + " ends";
}

// What a measure was taken for, and what brings it back.
std::string measure_for(const LeaseView& lease, const Halt& halt) {
  if (halt.cause == Cause::kUnmanaged) {
    return "because processes outside Berth took its memory; it comes back when there is room";
  }
  const std::string cause = halt.cause == Cause::kOverBudget
                                ? "because it used more than its budget"
                                : "because memory ran low";
  return cause + "; berth resume " + to_text(lease.id) + " brings it back";
}

bool may_act(const std::vector<Holder>& holders, LeaseId lease, const RenderContext& context) {
  const auto holder = std::ranges::find(holders, lease, &Holder::lease);
  return holder != holders.end() && (holder->user == context.me || context.me.value == 0);
}

struct RemedyWords {
  Remedy::Kind kind;
  std::string_view verb;
  std::string_view of_one;      // What becomes of it,
  std::string_view of_several;  // and of them.
};
constexpr auto kRemedies = std::to_array<RemedyWords>({
    {Remedy::Kind::kPauseLease, "pause", " is paused", " are paused"},
    {Remedy::Kind::kRequeueLease, "requeue", " waits in the queue again",
     " wait in the queue again"},
    {Remedy::Kind::kCancelLease, "cancel", " ends", " end"},
    {Remedy::Kind::kEndPrograms, "release --kill", " end", " end"},
});
constexpr RemedyWords kRelease = {{}, "release", " is given back", " are given back"};

const RemedyWords& words_for(Remedy::Kind kind) {
  const auto found = std::ranges::find(kRemedies, kind, &RemedyWords::kind);
  return found == kRemedies.end() ? kRelease : *found;
}

std::string remedy_text(const Remedy& remedy, const std::vector<Holder>& holders,
                        const RenderContext& context) {
  const std::string name = named_holder(holders, remedy.lease, context);
  const bool own = may_act(holders, remedy.lease, context);
  switch (remedy.kind) {
    case Remedy::Kind::kAskLess:
      return "it asks for " + to_text(remedy.bytes) + " (-m " + size_argument(remedy.bytes) + ")";
    case Remedy::Kind::kOtherDevice:
      return "it takes another GPU (-g any)";
    case Remedy::Kind::kShrinkLease:
      return name + " shrinks to its peak of " + to_text(remedy.bytes) +
             (own ? " (berth resize " + to_text(remedy.lease) + " -m " +
                        size_argument_above(remedy.bytes) + ")"
                  : "");
    default:
      break;
  }
  std::vector<std::string> names = {name};
  const RemedyWords& words = words_for(remedy.kind);
  std::string command = "berth " + std::string(words.verb) + " " + to_text(remedy.lease);
  bool all_own = own;
  for (const LeaseId other : remedy.also) {
    names.push_back(named_holder(holders, other, context));
    command += " " + to_text(other);
    all_own = all_own && may_act(holders, other, context);
  }
  const std::string what = remedy.kind == Remedy::Kind::kEndPrograms ? "the programs of " : "";
  return what + joined(names) + std::string(names.size() > 1 ? words.of_several : words.of_one) +
         (all_own ? " (" + command + ")" : "");
}

}  // namespace

std::string named_holder(const std::vector<Holder>& holders, LeaseId lease,
                         const RenderContext& context) {
  const auto holder = std::ranges::find(holders, lease, &Holder::lease);
  if (holder == holders.end()) return to_text(lease);
  return to_text(lease) + " (" + session_of(holder->user, holder->name, context) + ")";
}

std::string remedies_text(const std::vector<Remedy>& remedies, const std::vector<Holder>& holders,
                          const RenderContext& context) {
  std::string text;
  const std::string dot = " " + std::string(glyphs_of(context.charset).dot) + " ";
  for (const Remedy& remedy : remedies) {
    text += (text.empty() ? "" : dot) + remedy_text(remedy, holders, context);
  }
  return text;
}

std::string halt_words(const LeaseView& lease, std::optional<UnixMs> end,
                       const RenderContext& context) {
  if (!lease.halt) return {};
  const Halt& halt = *lease.halt;
  const std::string since = " since " + age_text(between(halt.since, context.now));
  const std::string expected = end ? ", expected " + about(*end, context) : "";
  const std::string where =
      lease.flags.frozen ? "its processes are stopped" : "its GPU memory is in host memory";
  switch (halt.reason) {
    case Halt::Reason::kPaused: {
      const std::string until = when_it_goes_on(lease, context);
      return "is paused" + by_whom_paused(lease, context) + since + given_reason(lease, context) +
             "; " + (until.empty() ? "it goes on with berth resume " + to_text(lease.id) : until);
    }
    case Halt::Reason::kYields:
      return "is suspended for " + beneficiary(halt, context) + since + idle_before(halt) + "; " +
             back_when(halt) + expected;
    case Halt::Reason::kTurn:
      return "runs in turns, and others have theirs" + since + "; " + where;
    case Halt::Reason::kMoves:
      return "is being moved to " + devices_of(lease.parts) + by_whom(lease.moved_by, context) +
             since + "; " + where + " until there is room";
    case Halt::Reason::kMeasure:
      return "is suspended" + since + " " + measure_for(lease, halt);
    case Halt::Reason::kReturns:
      return "is on its way back" + since + ", and goes on when there is room on " +
             devices_of(lease.parts);
    case Halt::Reason::kNotReturned:
      return "could not be brought back; berth resume " + to_text(lease.id) + " tries again";
  }
  return {};
}

std::string halt_sentence(const LeaseView& lease, std::optional<UnixMs> end,
                          const RenderContext& context) {
  if (!lease.halt) return {};
  return to_text(lease.id) + " " + session_of(lease, context) + " " +
         halt_words(lease, end, context);
}

std::string halt_notice(const LeaseView& lease, const RenderContext& context) {
  const std::string where =
      lease.flags.frozen ? "its processes are stopped" : "its GPU memory is in host memory";
  const std::string resume = " (berth resume " + to_text(lease.id) + ")";
  if (!lease.halt) return "is paused: " + where + resume;
  const Halt& halt = *lease.halt;
  switch (halt.reason) {
    case Halt::Reason::kPaused: {
      const std::string until = when_it_goes_on(lease, context);
      return "is paused" + by_whom_paused(lease, context) + given_reason(lease, context) + "; " +
             where + (until.empty() ? "" : ", and " + until) + resume;
    }
    case Halt::Reason::kYields:
      return "is suspended for " + beneficiary(halt, context) + idle_before(halt) + "; " + where +
             ", and " + back_when(halt);
    case Halt::Reason::kMoves:
      return "is being moved to " + devices_of(lease.parts) + by_whom(lease.moved_by, context);
    case Halt::Reason::kMeasure:
      return "is suspended " + measure_for(lease, halt);
    case Halt::Reason::kTurn:
    case Halt::Reason::kReturns:
      return "waits to come back; " + where;
    case Halt::Reason::kNotReturned:
      return "could not be brought back; " + where + resume;
  }
  return {};
}

}  // namespace berth::cli
