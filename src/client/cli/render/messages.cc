// SPDX-License-Identifier: Apache-2.0
#include "cli/render/messages.h"

#include <algorithm>

#include "cli/render/phrases.h"
#include "cli/render/text.h"

namespace berth::cli {
namespace {

std::string in_quotes(const std::string& text, const RenderContext& context) {
  return "\"" + escape_control(text, context.charset) + "\"";
}

}  // namespace

std::string numbered_text(const Message& message, const RenderContext& context) {
  const std::string who = message.from
                              ? escape_control(context.user_name(*message.from), context.charset)
                              : "the daemon";
  return std::to_string(message.number) + " from " + who + ": " + in_quotes(message.text, context);
}

std::string message_text(const Message& message, const RenderContext& context) {
  return "message " + numbered_text(message, context);
}

std::string answer_text(const Message& message, const RenderContext& context) {
  if (!message.answer) return "no answer yet";
  if (message.answer == MessageAnswer::kLapsed) return "not answered in time";
  const std::string who = message.by ? by_whom(message.by, context) : " by its rule";
  return std::string(to_text(*message.answer)) + who +
         (message.why.empty() ? "" : ": " + in_quotes(message.why, context));
}

std::string message_notice(const LeaseView& lease, const Message& message,
                           const RenderContext& context) {
  const auto open =
      std::ranges::count_if(lease.messages, [](const Message& each) { return !each.answer; });
  const std::string which =
      to_text(lease.id) + (open > 1 ? " --number " + std::to_string(message.number) : "");
  return "lease " + to_text(lease.id) + " has " + message_text(message, context) +
         " (berth agree " + which + ", or berth refuse " + which + ")";
}

const Message* last_sent(const LeaseView& lease) {
  return lease.messages.empty() ? nullptr : &lease.messages.back();
}

const Message* last_answered(const LeaseView& lease) {
  const Message* last = nullptr;
  for (const Message& message : lease.messages) {
    if (!message.answered_at) continue;
    if (last == nullptr || message.answered_at >= last->answered_at) last = &message;
  }
  return last;
}

}  // namespace berth::cli
