// SPDX-License-Identifier: Apache-2.0
#include "core/message_table.h"

#include <algorithm>

#include "base/check.h"

namespace berth::core {
namespace {

bool is_by_rule(const Message& message) {
  return message.answer && message.answer != MessageAnswer::kLapsed && !message.by;
}

}  // namespace

bool MessageTable::take(const MessageSent& fact, const Record& record) {
  if (fact.number < next_number()) return false;
  make_place();
  all_.push_back({.number = fact.number,
                  .from = fact.from,
                  .whom = fact.whom,
                  .text = fact.text,
                  .sent = record.at,
                  .at = record.wall});
  return true;
}

bool MessageTable::take(const MessageAnswered& fact, const Record& record) {
  const auto found = std::ranges::find(all_, fact.number, &Message::number);
  if (found == all_.end() || found->answer) return false;
  found->answer = fact.answer;
  found->why = fact.why;
  found->by = fact.by;
  found->answered = record.at;
  found->answered_at = record.wall;
  return true;
}

// The oldest goes that nobody waits for. By the last that a rule answered it is known when a rule
// may answer again.
void MessageTable::make_place() {
  if (all_.size() < kMessagesKept) return;
  const Message* ruled = last_by_rule();
  const auto oldest = std::ranges::find_if(
      all_, [&](const Message& message) { return message.answer && &message != ruled; });
  all_.erase(oldest == all_.end() ? all_.begin() : oldest);
  CHECK(all_.size() < kMessagesKept);
}

const Message* MessageTable::find(std::uint64_t number) const {
  const auto found = std::ranges::find(all_, number, &Message::number);
  return found == all_.end() ? nullptr : &*found;
}

std::vector<const Message*> MessageTable::unanswered() const {
  std::vector<const Message*> open;
  for (const Message& message : all_) {
    if (!message.answer) open.push_back(&message);
  }
  return open;
}

const Message* MessageTable::last_by_rule() const {
  const Message* last = nullptr;
  for (const Message& message : all_) {
    if (is_by_rule(message) && (last == nullptr || message.answered >= last->answered)) {
      last = &message;
    }
  }
  return last;
}

}  // namespace berth::core
