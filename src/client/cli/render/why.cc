// SPDX-License-Identifier: Apache-2.0
#include "cli/render/why.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/quantity.h"
#include "cli/render/halts.h"
#include "cli/render/phrases.h"

namespace berth::cli {
namespace {

using Reason = WhyView::Reason;

constexpr std::size_t kOtherDevicesShown = 3;
constexpr std::size_t kNamesShown = 4;

/// What follows the name of a request in a list, and the sentence after "Not now: ". Empty: it is
/// made of the answer.
struct ReasonWords {
  Reason reason;
  std::string_view phrase;
  std::string_view sentence;
};
constexpr auto kReasons = std::to_array<ReasonWords>({
    {Reason::kNotWaiting, "does not wait", "it is not waiting"},
    {Reason::kMemory, "waits for memory", ""},
    {Reason::kTurn, "waits for its turn", ""},
    {Reason::kExclusive, "waits for a GPU without other leases", ""},
    {Reason::kUnmanaged, "waits for memory that processes outside Berth use", ""},
    {Reason::kOvercommitted, "waits: the GPU is overcommitted", ""},
    {Reason::kDriver, "waits for the driver's answer", ""},
    {Reason::kParked, "is parked",
     "it is parked: its berth run was stopped; fg brings it back to its place"},
    {Reason::kAfter, "starts after others", ""},
    {Reason::kNotBefore, "starts later", ""},
    {Reason::kMembers, "goes on with its members", ""},
    {Reason::kOnHold, "is on hold", ""},
    {Reason::kNotReconnected, "has not reconnected",
     "its berth run has not come back since the daemon was restarted"},
    {Reason::kClaim, "takes up its grant",
     "it has been offered the GPU and has not taken it up yet"},
    {Reason::kPassed, "waits behind one that may not be passed",
     "the first in the queue has been passed for long enough, and nothing may pass it now"},
    {Reason::kUserLimit, "waits for its user's limit",
     "its user has as much as one user may have; one of the user's leases must end first"},
    {Reason::kStopped, "waits: nothing is granted at present",
     "nothing is granted at present (berth doctor names the cause)"},
    {Reason::kProbing, "waits until freed memory is seen",
     "the memory of a lease that ended has yet to be seen free; that takes moments"},
    {Reason::kSlices, "waits for its turn", "others that run in turns have theirs"},
    {Reason::kAboveLimit, "asks for more than its limit by now", ""},
    {Reason::kOutlived, "", ""},
    {Reason::kPaused, "is paused", "it is paused"},
    {Reason::kYields, "makes room for a more urgent lease",
     "it makes room for a more urgent lease"},
    {Reason::kMoves, "moves to another GPU", "it moves to another GPU"},
    {Reason::kMeasure, "was suspended to leave room",
     "its memory is in host memory, to leave room"},
    {Reason::kReturns, "waits for room to come back", "it comes back when there is room"},
    {Reason::kNotReturned, "could not be brought back", "it could not be brought back"},
});
static_assert(kReasons.size() == kWordsOf<Reason>.size());

const ReasonWords& words_for(Reason reason) {
  const auto found = std::ranges::find(kReasons, reason, &ReasonWords::reason);
  CHECK(found != kReasons.end());
  return *found;
}

std::string gpu(const Shortage& shortage) {
  return "GPU " + std::to_string(shortage.index);
}

// " on GPU 0 and 1"; by UUID where the figures do not tell the index.
std::string where_it_fits(const FitView& fit) {
  std::vector<std::string> numbers;
  std::vector<std::string> uuids;
  for (const DeviceId device : fit.devices) {
    uuids.push_back(to_text(device));
    const auto known = std::ranges::find(fit.shortages, device, &Shortage::device);
    if (known != fit.shortages.end()) numbers.push_back(std::to_string(known->index));
  }
  if (uuids.empty()) return "";
  return " on " + (numbers.size() == uuids.size() ? "GPU " + joined(numbers) : joined(uuids));
}

// "12 (guest/x)"
std::string named(const WhyView& why, LeaseId lease, const RenderContext& context) {
  return named_holder(why.holders, lease, context);
}

// "GPU 0 can grant 1.4 GiB (15.9 total − 0.5 held back − 14.0 charged)"
std::string capacity_of(const Shortage& shortage, const RenderContext& context) {
  const std::string minus = " " + std::string(glyphs_of(context.charset).minus) + " ";
  return gpu(shortage) + " can grant " + to_text(shortage.grantable) + " (" +
         in_gib(shortage.capacity, context) + " total" + minus +
         in_gib(shortage.held_back, context) + " held back" + minus +
         in_gib(shortage.charged, context) + " charged)";
}

// "3 of the 5 GPUs asked for could take it now; " where it asks for several.
std::string how_many_fit(std::uint32_t fitting, std::uint32_t wanted) {
  if (wanted < 2) return {};
  return std::to_string(fitting) + " of the " + std::to_string(wanted) +
         " GPUs asked for could take it now; ";
}

std::string where_room_lacks(const WhyView& why, const RenderContext& context) {
  std::string text = how_many_fit(why.devices_fitting, why.devices_wanted);
  // Those that could take it are not what it waits for.
  const std::size_t first = why.devices_wanted < 2 ? 0 : why.devices_fitting;
  const std::size_t shown = std::min(why.shortages.size(), first + kOtherDevicesShown + 1);
  for (std::size_t i = first; i < shown; ++i) {
    text += (i == first ? "" : "; ") + capacity_of(why.shortages[i], context);
  }
  if (shown < why.shortages.size()) {
    text += "; " + counted(why.shortages.size() - shown, "more GPU") + " likewise";
  }
  return text.empty() ? "no GPU has enough to grant" : text;
}

// "programs of 12 (guest/x), which has ended, still use 4.3 GiB"; empty where there are none.
std::string outliving(const std::vector<Holder>& holders, const RenderContext& context) {
  std::vector<std::string> names;
  Bytes used;
  for (const Holder& holder : holders) {
    if (!holder.has_ended) continue;
    names.push_back(named_holder(holders, holder.lease, context));
    used += holder.charged;
  }
  if (names.empty()) return {};
  return "programs of " + joined(names) + (names.size() == 1 ? ", which has" : ", which have") +
         " ended, still use " + to_text(used);
}

std::string outlived(const WhyView& why, const RenderContext& context) {
  const std::string text = outliving(why.holders, context);
  if (text.empty()) return "programs of a lease that has ended still use the memory";
  const std::string where = lacking(why) == nullptr ? "" : " of " + gpu(*lacking(why));
  return text + (why.devices_wanted < 2 ? where : "");
}

std::string unmanaged_in_the_way(const WhyView& why) {
  if (lacking(why) == nullptr) return "processes outside Berth use the memory";
  const Shortage& best = *lacking(why);
  const std::string used = best.unmanaged ? to_text(*best.unmanaged) : "the memory";
  return "processes outside Berth use " + used + " of " + gpu(best) + " (berth status names them)";
}

std::string not_alone(const WhyView& why, const RenderContext& context) {
  const Shortage* best = lacking(why);
  const Holder* holder = best == nullptr ? nullptr : largest_on(why, *best).holder;
  if (holder == nullptr) return "no GPU is free of other leases";
  return how_many_fit(why.devices_fitting, why.devices_wanted) + gpu(*best) +
         " cannot be shared for it while " + named(why, holder->lease, context) + " is there";
}

std::string above_limit(const WhyView& why) {
  if (!why.limit) return "it asks for more than may be granted by now";
  const auto [kind, allowed, asked] = *why.limit;
  const std::string raise = "; whoever configures the daemon can raise it";
  switch (kind) {
    case LoweredLimit::Kind::kLeases:
      return "its user may have " + counted(allowed, "lease") +
             " by now (leases in [limits] or [users])" + raise;
    case LoweredLimit::Kind::kVram:
      return "it asks for " + to_text(Bytes{asked}) + ", and its user may have " +
             to_text(Bytes{allowed}) + " by now (vram in [users])" + raise;
    case LoweredLimit::Kind::kDevice:
      return (asked == 0 ? "it asks for a whole GPU" : "it asks for " + to_text(Bytes{asked})) +
             ", and the most that a GPU can grant beside its reserve is " +
             to_text(Bytes{allowed}) + " by now (reserve in [gpu])" + raise;
  }
  return {};
}

std::string which_gpus_lack(const WhyView& why) {
  if (why.shortages.empty()) {
    return "the driver has not told how the GPUs are (berth doctor looks why)";
  }
  return "it asks for " + counted(why.devices_wanted, "GPU") + ", and only " +
         std::to_string(why.shortages.size()) + " that it could use are there now (berth status)";
}

// The sentence after "Not now: ".
std::string sentence_of(const WhyView& why, const RenderContext& context) {
  switch (why.reason) {
    case Reason::kMemory:
      return where_room_lacks(why, context);
    case Reason::kTurn:
      return why.ahead_count > 0
                 ? "it would fit, and others are ahead of it"
                 : "it would fit, and the room is kept for a lease that grows or comes back";
    case Reason::kExclusive:
      return not_alone(why, context);
    case Reason::kUnmanaged:
      return unmanaged_in_the_way(why);
    case Reason::kOvercommitted:
      return where_room_lacks(why, context) +
             "; it is overcommitted, and nothing is granted there until that has passed";
    case Reason::kDriver:
      return which_gpus_lack(why);
    case Reason::kAboveLimit:
      return above_limit(why);
    case Reason::kOutlived:
      return outlived(why, context);
    default:
      return std::string(words_for(why.reason).sentence);
  }
}

// "waits for memory that programs of 12 still use": of a lease that has ended.
std::string waits_for_programs(const WhyView& why) {
  std::vector<std::string> ids;
  for (const Holder& holder : why.holders) {
    if (holder.has_ended) ids.push_back(to_text(holder.lease));
  }
  return "waits for memory that programs of " +
         (ids.empty() ? "a lease that has ended" : joined(ids)) + " still use";
}

// The one whose end makes room: its end is the expected start.
const Holder* whose_end(const WhyView& why) {
  if (!why.expected_start) return nullptr;
  for (const Holder& holder : why.holders) {
    if (holder.expected_end == why.expected_start) return &holder;
  }
  return nullptr;
}

std::string without_end(const WhyView& why, const RenderContext& context) {
  std::vector<std::string> names;
  for (const Holder& holder : why.holders) {
    if (!holder.expected_end && !holder.has_ended && names.size() < kNamesShown) {
      names.push_back(named(why, holder.lease, context));
    }
  }
  const bool is_told = why.reason == Reason::kOutlived;
  const std::string programs = is_told ? "" : outliving(why.holders, context);
  std::string text = "no end known";
  if (!names.empty()) {
    text += ": " + joined(names) + (names.size() == 1 ? " was" : " were") +
            " started without --eta or --limit";
  }
  if (programs.empty()) return text;
  return text + (names.empty() ? ": " : "; ") + programs;
}

std::string first_chance(const WhyView& why, const RenderContext& context) {
  if (!why.expected_start) return without_end(why, context);
  const std::string when = about(*why.expected_start, context);
  std::string start = when.starts_with('~') ? "in " + when : when;
  const Holder* ending = whose_end(why);
  if (ending == nullptr) return start;
  return start + ", when " + named(why, ending->lease, context) + " is expected to end";
}

std::string why_it_does_not_wait(const LeaseView& lease, const WhyView& why,
                                 const RenderContext& context) {
  const std::string who = to_text(lease.id) + " " + session_of(lease, context);
  if (lease.state == LeaseState::kEnded) {
    const std::string when =
        lease.ended_at ? " " + age_text(between(*lease.ended_at, context.now)) + " ago" : "";
    return who + " is not waiting: it ended" + when + " (" + result_of(lease) + ").\n";
  }
  const std::string where = devices_of(lease.parts);
  if (lease.state == LeaseState::kReleasing) {
    return who + " is not waiting: it has ended, and what its processes still use of " + where +
           " (" + size_or_dash(used_by(lease), context) + ") stays charged until it is freed.\n" +
           "To free it now: berth release --kill " + to_text(lease.id) + "\n";
  }
  if (lease.halt) return halt_sentence(lease, why.expected_start, context) + ".\n";
  std::string text = who + " is not waiting: it is " + state_of(lease) + " with " +
                     to_text(granted_to(lease)) + " on " + where;
  if (lease.expected_end) text += " (end: " + about(*lease.expected_end, context) + ")";
  text += ".\n";
  if (lease.pause) text += "It was paused " + pause_text(*lease.pause, context) + ".\n";
  if (lease.flags.full) text += "Inside it " + full_text(lease) + ".\n";
  if (!lease.flags.over_budget) return text;
  return text + "It uses " + size_or_dash(used_by(lease), context) +
         ", more than its budget; nothing else is granted from that.\n";
}

// In the lines of the terminal, if it is one.
std::string fitted(const std::string& text, const RenderContext& context) {
  return context.width ? wrapped(text, 0, *context.width) : text;
}

// What runs in turns, and was suspended after its last one.
std::string why_no_turn(const LeaseView& lease, const WhyView& why, const RenderContext& context) {
  std::vector<std::string> names;
  for (const Holder& holder : why.holders) {
    if (names.size() < kNamesShown) names.push_back(named(why, holder.lease, context));
  }
  std::string text = to_text(lease.id) + " " + session_of(lease, context) +
                     " waits for its next turn on " + devices_of(lease.parts) + " (" +
                     age_text(why.waited) + "); its memory is in host memory.\n";
  if (!names.empty()) {
    text += joined(names) + (names.size() == 1 ? " has" : " have") + " memory there.\n";
  }
  const std::string when = why.expected_start ? about(*why.expected_start, context) : "";
  text += "Its turn: " + (when.empty()            ? "after those ahead of it"
                          : when.starts_with('~') ? "in " + when
                                                  : when);
  return text + ". Ahead of it: " + who_is_ahead(why) + ".\n";
}

}  // namespace

std::string phrase_of(const WhyView& why) {
  if (why.reason == Reason::kOutlived) return waits_for_programs(why);
  std::string phrase(words_for(why.reason).phrase);
  if (why.reason != Reason::kTurn) return phrase;
  return phrase + ", " + std::to_string(why.ahead_count) + " ahead";
}

std::string who_is_ahead(const WhyView& why) {
  if (why.ahead_count == 0) return "nobody";
  std::vector<std::string> names;
  for (const LeaseId id : why.ahead) {
    if (names.size() < kNamesShown) names.push_back(to_text(id));
  }
  if (names.size() < why.ahead_count) {
    names.push_back(std::to_string(why.ahead_count - names.size()) + " more");
  }
  return joined(names);
}

// Itself, or its set. What the daemon put on hold it tells why.
std::string why_on_hold(const LeaseView& lease) {
  const bool is_set = !lease.hold && lease.request.member;
  const LeaseId id = is_set ? lease.request.member->set : lease.id;
  const std::string reason = lease.hold ? lease.hold->reason : "";
  return (is_set ? "its set is on hold" : "it is on hold") +
         (reason.empty() ? "" : ", since " + reason) + " (berth hold --off " + to_text(id) +
         (lease.set ? " lets its jobs go on)" : " lets it be granted)");
}

// "it starts when 12 has ended well and 13 has ended"
std::string why_later(const LeaseView& lease, const WhyView& why, const RenderContext& context) {
  const std::optional<Retry> next = next_attempt_of(lease);
  if (why.reason == Reason::kNotBefore && next)
    return next_attempt_text(lease) + ", at " + moment(next->not_before, context);
  if (why.reason == Reason::kNotBefore && lease.request.not_before)
    return "it starts at " + moment(*lease.request.not_before, context);
  if (why.reason == Reason::kNotReconnected && lease.job) {
    return "nobody is there to start it: no keeper of its user runs (any verb of that user's, such "
           "as berth ps, starts one)";
  }
  if (why.reason == Reason::kOnHold) return why_on_hold(lease);
  if (why.reason != Reason::kAfter) return sentence_of(why, context);
  std::string text = "it starts when " + after_text(lease.request.after);
  for (const LeaseId retried : why.retried) {
    text += "; " + to_text(retried) +
            " has failed and is started again: how its last attempt ends is what counts";
  }
  return text;
}

std::string why_text(const LeaseView& lease, const WhyView& why, const RenderContext& context) {
  if (lease.state == LeaseState::kSuspended && why.reason == Reason::kSlices) {
    return fitted(why_no_turn(lease, why, context), context);
  }
  if (lease.state != LeaseState::kWaiting) {
    return fitted(why_it_does_not_wait(lease, why, context), context);
  }
  const std::string what = lease.set ? " is a set of " + std::to_string(lease.request.members) +
                                           " jobs, each of which asks for "
                                     : " is waiting for ";
  std::string text = to_text(lease.id) + " " + session_of(lease, context) + what +
                     asked_by(lease.request) + " (" + std::string(to_text(lease.request.priority)) +
                     " priority, " + age_text(why.waited) +
                     (context.simulated ? ", simulated GPU" : "") + ").\n";
  if (why.reason == Reason::kMembers)
    return fitted(text + "So far: " + set_text(lease) + ".\n", context);
  text += "Not now: " + why_later(lease, why, context) + ".\n";
  const bool has_chance = why.reason != Reason::kAboveLimit && why.reason != Reason::kParked &&
                          why.reason != Reason::kOnHold && why.reason != Reason::kAfter &&
                          why.reason != Reason::kMembers && why.reason != Reason::kNotBefore &&
                          why.reason != Reason::kNotReconnected;
  if (has_chance) {
    text += "First chance: " + first_chance(why, context) + ". Ahead of it: " + who_is_ahead(why) +
            ".\n";
  }
  const std::string help = remedies_text(why.remedies, why.holders, context);
  if (!help.empty()) text += "It would start sooner if: " + help + ".\n";
  return fitted(text, context);
}

std::string short_reason(const WhyView& why, const RenderContext& context) {
  std::string phrase = phrase_of(why);
  if (why.reason == Reason::kParked || why.reason == Reason::kOnHold ||
      why.reason == Reason::kMembers || why.reason == Reason::kAfter ||
      why.reason == Reason::kNotBefore || why.reason == Reason::kClaim ||
      why.reason == Reason::kAboveLimit) {
    return phrase;
  }
  if (const Holder* ending = whose_end(why)) {
    return phrase + "; " + to_text(ending->lease) + " ends " +
           (about(*why.expected_start, context).starts_with('~') ? "in " : "") +
           about(*why.expected_start, context);
  }
  if (why.expected_start) return phrase + "; start " + about(*why.expected_start, context);
  return phrase + "; no end known";
}

std::string learned_text(const FitView& fit) {
  if (fit.learned) return "By its last runs it needs " + to_text(*fit.learned) + ".";
  return "It is not known what it needs: it has not ended well here, or was refused memory the "
         "last "
         "time. As for a whole GPU:";
}

std::string fit_text(const FitView& fit, const RenderContext& context) {
  const std::string simulated = context.simulated ? " (the GPU is simulated)\n" : "\n";
  if (fit.fits) return "It fits now" + where_it_fits(fit) + "." + simulated;
  std::string text = "It does not fit now.";
  if (fit.devices_wanted > 1) {
    text += " " + std::to_string(fit.devices_fitting) + " of the " +
            std::to_string(fit.devices_wanted) + " GPUs asked for could take it now.";
  }
  const bool several = fit.devices_wanted > 1 && fit.devices_fitting < fit.shortages.size();
  const std::size_t first = several ? fit.devices_fitting : 0;
  const std::size_t shown = std::min(fit.shortages.size(), first + kOtherDevicesShown + 1);
  for (std::size_t i = first; i < shown; ++i) {
    text += (i == first ? " " : "; ") + capacity_of(fit.shortages[i], context);
  }
  text += shown > 0 ? ".\n" : "\n";
  if (fit.ahead_count > 0) text += counted(fit.ahead_count, "request") + " would be ahead of it.\n";
  const std::string programs = outliving(fit.holders, context);
  text += "First chance: " +
          (fit.expected_start ? about(*fit.expected_start, context)
                              : "no end known" + (programs.empty() ? "" : ": " + programs)) +
          ".\n";
  const std::string help = remedies_text(fit.remedies, fit.holders, context);
  if (!help.empty()) text += "It would fit if: " + help + ".\n";
  const std::string each =
      fit.devices_wanted > 1 ? " on each of " + std::to_string(fit.devices_wanted) + " GPUs" : "";
  return fitted(text + "The most that would be granted now" + each + ": " + to_text(fit.largest) +
                    "." + simulated,
                context);
}

const Shortage* lacking(const WhyView& why) {
  if (why.shortages.empty()) return nullptr;
  const std::size_t last = why.shortages.size() - 1;
  return &why.shortages[why.devices_wanted < 2 ? 0
                                               : std::min<std::size_t>(why.devices_fitting, last)];
}

Occupant largest_on(const WhyView& why, const Shortage& gpu) {
  Occupant largest;
  for (const Holder& holder : why.holders) {
    for (const HeldThere& there : holder.devices) {
      if (there.device != gpu.device) continue;
      if (largest.holder != nullptr && there.charged <= largest.charged) continue;
      largest = {.holder = &holder, .charged = there.charged};
    }
  }
  return largest;
}

}  // namespace berth::cli
