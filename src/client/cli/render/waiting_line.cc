// SPDX-License-Identifier: Apache-2.0
#include "cli/render/waiting_line.h"

#include <string_view>

#include "base/quantity.h"
#include "cli/render/phrases.h"
#include "cli/render/why.h"

namespace berth::cli {
namespace {

using Reason = WhyView::Reason;

std::string ordinal(std::uint32_t position) {
  const std::uint32_t tens = position % 100;
  const bool teen = tens >= 11 && tens <= 13;
  const std::string_view ending = teen                 ? "th"
                                  : position % 10 == 1 ? "st"
                                  : position % 10 == 2 ? "nd"
                                  : position % 10 == 3 ? "rd"
                                                       : "th";
  return std::to_string(position) + std::string(ending);
}

std::string gpu_text(const Shortage& shortage) {
  return "GPU " + std::to_string(shortage.index);
}

// The lease or user in the way, if one can be named.
Occupant in_the_way(const WhyView& why) {
  switch (why.reason) {
    case Reason::kMemory:
    case Reason::kExclusive:
    case Reason::kOvercommitted:
    case Reason::kSlices:
      return lacking(why) == nullptr ? Occupant{} : largest_on(why, *lacking(why));
    case Reason::kUserLimit:  // The user's own, wherever they are.
      if (why.holders.empty()) return {};
      return {.holder = &why.holders.front(), .charged = why.holders.front().charged};
    default:
      return {};
  }
}

// "GPU 0 has other leases", or the reason in the words of the lists.
std::string cause(const Request& request, const WhyView& why) {
  const Shortage* best = lacking(why);
  const bool is_whole = request.share == Share::kExclusive;
  if (best != nullptr && why.reason == Reason::kExclusive) {
    return gpu_text(*best) + (is_whole ? " has other leases" : " is held whole");
  }
  if (best != nullptr && why.reason == Reason::kOvercommitted) {
    return gpu_text(*best) + " is overcommitted";
  }
  if (best != nullptr && why.reason == Reason::kSlices) {
    return "others have their turn on " + gpu_text(*best);
  }
  if (best != nullptr && why.reason == Reason::kUnmanaged) {
    return "processes outside Berth use " +
           (best->unmanaged ? to_text(*best->unmanaged) + " of " : "") + gpu_text(*best);
  }
  return phrase_of(why);
}

// "GPU 0: 1.4 GiB of 6.0 GiB free"
std::string cause_in_short(const Request& request, const WhyView& why) {
  const Shortage* best = lacking(why);
  if (why.reason != Reason::kMemory || best == nullptr) return cause(request, why);
  return gpu_text(*best) + ": " + to_text(best->grantable) + " of " + to_text(request.vram) +
         " free";
}

// " holds 11.0 GiB"
std::string holding(const Occupant& occupant) {
  return " holds " + to_text(occupant.charged);
}

// Whose names have no room: "; lease 12 holds 11.0 GiB", "; lease 4 is next".
std::string by_number(const WhyView& why, const Occupant& occupant) {
  if (occupant.holder != nullptr) {
    return "; lease " + to_text(occupant.holder->lease) + holding(occupant);
  }
  const bool in_line = why.reason == Reason::kTurn || why.reason == Reason::kPassed;
  return in_line && why.ahead_count > 0 ? "; before it: " + who_is_ahead(why) : "";
}

}  // namespace

std::string waiting_line(const Request& request, const WhyView& why, const RenderContext& context) {
  const std::string gap = context.charset.unicode ? " — " : " - ";
  std::string text = "waiting for " + asked_by(request) + gap;
  if (why.position > 0) text += ordinal(why.position) + " in queue, ";
  const Shortage* best = lacking(why);
  const bool counts = why.reason == Reason::kMemory || why.reason == Reason::kExclusive;
  if (best != nullptr && counts && why.devices_wanted > 1) {
    text += std::to_string(why.devices_fitting) + " of " + std::to_string(why.devices_wanted) +
            " GPUs free; ";
  }
  text += best != nullptr && why.reason == Reason::kMemory
              ? gpu_text(*best) + " has " + to_text(best->grantable) + " free"
              : cause(request, why);
  const Occupant occupant = in_the_way(why);
  if (occupant.holder == nullptr) return text + by_number(why, occupant);
  const Holder& holder = *occupant.holder;
  text += " (" + session_of(holder.user, holder.name, context) + holding(occupant);
  text += holder.expected_end ? ", " + about(*holder.expected_end, context) + " left" : "";
  return text + ")";
}

std::vector<std::string> waiting_lines(const Request& request, const WhyView& why,
                                       const RenderContext& context) {
  const std::string whole = waiting_line(request, why, context);
  std::vector<std::string> lines = {whole + ". Ctrl-C to leave.", whole};
  const std::string least = cause_in_short(request, why);
  // "waiting, waits for its turn" says it twice.
  const std::string waiting = least.starts_with("GPU") ? "waiting, " : "";
  const Occupant occupant = in_the_way(why);
  if (occupant.holder != nullptr) {
    const Holder& holder = *occupant.holder;
    const std::string who =
        least + "; " + session_of(holder.user, holder.name, context) + holding(occupant);
    if (holder.expected_end) {
      const std::string end = ", " + about(*holder.expected_end, context);
      lines.push_back(waiting + who + end);
      lines.push_back(who + end);
    }
    lines.push_back(waiting + who);
    lines.push_back(who);
  }
  lines.push_back(least + by_number(why, occupant));
  lines.push_back(least);
  return lines;
}

}  // namespace berth::cli
