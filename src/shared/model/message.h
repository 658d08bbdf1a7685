// SPDX-License-Identifier: Apache-2.0
// Messages to the holder of a lease, and what the holder, or a rule of theirs, said to them. Plain
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"

namespace berth {

/// kLapsed: nobody said anything in time.
enum class MessageAnswer : std::uint8_t { kAgreed, kRefused, kLapsed };
constexpr auto words_of(MessageAnswer) {
  using enum MessageAnswer;
  return make_words<MessageAnswer>(
      {{kAgreed, "agreed"}, {kRefused, "refused"}, {kLapsed, "lapsed"}});
}

/// Whose messages a coding agent is given to read: what others write, it may take for what it is
/// to do.
enum class ReadMessages : std::uint8_t { kOwn, kAll, kNone };
constexpr auto words_of(ReadMessages) {
  using enum ReadMessages;
  return make_words<ReadMessages>({{kOwn, "own"}, {kAll, "all"}, {kNone, "none"}});
}

/// Of one lease so many are kept.
inline constexpr std::size_t kMessagesKept = 16;

struct Message {
  std::uint64_t number = 0;          // Of a lease, from 1.
  std::optional<UserId> from = {};   // Absent: the daemon, by its rules.
  std::optional<LeaseId> whom = {};  // Of the daemon: the request that waits for room.
  std::string text = {};
  Instant sent = {};
  UnixMs at = {};
  std::optional<MessageAnswer> answer = {};
  std::string why = {};           // As the holder says.
  std::optional<UserId> by = {};  // Who answered; absent: a rule of the holder, or nobody.
  std::optional<Instant> answered = {};
  std::optional<UnixMs> answered_at = {};
  friend bool operator==(const Message&, const Message&) = default;
};
constexpr auto fields_of(Is<Message> auto*) {
  return fields(
      {"Message", "What somebody asks of the holder of a lease. Everybody can read it."},
      field("number", &Message::number, "Of the lease's messages, from 1.").required().from(1),
      field("from", &Message::from, "Who sent it; null: the daemon."),
      field("for", &Message::whom, "Of the daemon: the request that waits for room."),
      field("text", &Message::text, "One line.").required(side::kJournal),
      kept("sent", &Message::sent).required(),
      field("at", &Message::at, "When it was sent.")
          .required(side::kJournal)
          .called("time", side::kWire),
      field("answer", &Message::answer,
            "Null: none yet. lapsed: none within an hour, and none is awaited any more."),
      field("why", &Message::why, "As the holder says."),
      field("by", &Message::by, "Who answered; null: a rule of the holder, or nobody."),
      kept("answered", &Message::answered),
      field("answered_at", &Message::answered_at, "When it was answered.")
          .called("answered_wall_ms", side::kJournal)
          .called("answered", side::kWire));
}

/// What is said to messages without asking anybody.
enum class OnMessage : std::uint8_t { kNone, kPause, kRefuse };
constexpr auto words_of(OnMessage) {
  using enum OnMessage;
  return make_words<OnMessage>({{kNone, "none"}, {kPause, "pause"}, {kRefuse, "refuse"}});
}

/// A rule of the holder, given when it starts.
struct MessageRule {
  OnMessage answer = OnMessage::kNone;
  std::optional<Duration> lasts = {};     // Of kPause.
  std::vector<std::uint32_t> users = {};  // Whose messages it is for; empty: the holder's own.
  friend bool operator==(const MessageRule&, const MessageRule&) = default;
};
inline constexpr std::size_t kMessageRuleUsers = 16;
constexpr auto fields_of(Is<MessageRule> auto*) {
  return fields(
      {"MessageRule", "What is said to messages without asking anybody."},
      field("answer", &MessageRule::answer, "pause: it is agreed, and the lease suspended.")
          .required(),
      field("for", &MessageRule::lasts, "How long it is suspended then.").from(1),
      field("users", &MessageRule::users,
            "The uids of those whose messages it is for; none: the holder's own.")
          .called("user_ids")
          .at_most(kMessageRuleUsers));
}

}  // namespace berth
