// SPDX-License-Identifier: Apache-2.0
#include "sim/reference_messages.h"

#include <algorithm>

#include "core/limits.h"
#include "sim/reference_model.h"

namespace berth::sim {

// The daemon sends none: no simulated lease is idle.
bool ReferenceMessages::begin(const MessageSent& fact, Instant at) {
  if (fact.number <= last_number_ || !fact.from) return false;
  const bool is_second =
      std::ranges::any_of(open_, [&](const auto& each) { return each.second.from == *fact.from; });
  last_number_ = fact.number;
  open_[fact.number] = {*fact.from, at};
  return !is_second && open_.size() <= limits::kMessagesOpen;
}

bool ReferenceMessages::end(const MessageAnswered& fact, const ReferenceLease& lease, Instant at) {
  const auto found = open_.find(fact.number);
  if (found == open_.end()) return false;
  const Open message = found->second;
  open_.erase(found);
  if (fact.by) return *fact.by == lease.user && fact.answer != MessageAnswer::kLapsed;
  const std::optional<MessageRule>& rule = lease.request.on_message;
  const bool is_for =
      rule && (rule->users.empty()
                   ? message.from == lease.user
                   : std::ranges::find(rule->users, message.from.value) != rule->users.end());
  switch (fact.answer) {
    case MessageAnswer::kAgreed:
      return is_for && rule->answer == OnMessage::kPause &&
             lease.state == ReferenceLease::State::kClaimed;
    case MessageAnswer::kRefused:
      return is_for && rule->answer == OnMessage::kRefuse;
    case MessageAnswer::kLapsed:
      return message.sent + limits::kMessageLasts <= at;
  }
  return false;
}

void ReferenceMessages::restore(const LeaseView& view) {
  for (const Message& message : view.messages) {
    last_number_ = message.number;
    if (!message.answer) open_[message.number] = {message.from.value_or(UserId{}), message.sent};
  }
}

Instant ReferenceMessages::due() const {
  Instant at = Instant::never();
  for (const auto& [number, message] : open_) {
    at = std::min(at, message.sent + limits::kMessageLasts);
  }
  return at;
}

}  // namespace berth::sim
