// SPDX-License-Identifier: Apache-2.0
// Messages to the holders of leases: a user asks something of a lease that is not theirs to change,
// and its holder answers, by hand or by a rule.
//
// Note [Messages ask, and nothing follows from them]: a message alone changes no lease. What is
// agreed to is done by its holder's right: a pause that they name, a pause by
// their rule, or room for the request for which the daemon asked. A rule answers where the message
// is of a user that it is for, not twice within policy.message_every, and not while the lease saves
// itself; the message waits for its holder then. No rule sends a message, and so two leases whose
// programs message each other come to rest.
//
// Note [Who may send how much]: anybody on the machine may send; so there is a bound to what each
// can send. A message is one line of limits::kMessageText bytes; a user has one open message of a
// lease, and sends limits::kMessagesAMinute at most; a lease has limits::kMessagesOpen open ones of
// users. One that nobody answers lapses after limits::kMessageLasts.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/decider.h"
#include "core/part.h"
#include "core/transfers.h"

namespace berth::core {

class Messages {
 public:
  Messages(Decider& core, Transfers& transfers) : core_(core), transfers_(transfers) {}

  void on(const SendMessage& event);
  void on(const AgreeToMessage& event);
  void on(const RefuseMessage& event);

  static std::optional<Refusal> refuse_rule(const Request& request);

  /// The daemon has not asked it for room for this request yet, and for none of late.
  bool may_ask_for_room(const Lease& lease, LeaseId whom) const;
  /// Its holder lets it make room for this request.
  static bool has_agreed(const Lease& lease, LeaseId whom);
  /// Some lease has not answered yet whether it makes room for it.
  bool awaits_room(LeaseId whom) const;
  /// It is idle since then.
  void ask_for_room(LeaseId id, LeaseId whom, Instant idle_since);

  /// When something is due of its messages.
  Instant due(const Lease& lease) const;
  /// One thing at a time. False: nothing is.
  bool tend(LeaseId id);
  /// It has ended: clients that wait for an answer are refused.
  void forget(LeaseId id);

 private:
  /// Who waits for the answer to a message.
  struct Waiter {
    Token token;
    std::uint64_t number = 0;
    Instant until;
  };
  using Chosen = std::variant<const Message*, Refusal>;

  std::optional<Refusal> refuse(const Lease& lease, UserId user, const std::string& text);
  std::optional<Refusal> refuse_pace(UserId user);
  std::uint64_t send(LeaseId id, MessageSent fact);
  void apply_rule(LeaseId id, std::uint64_t number);
  static Chosen chosen(const Lease& lease, std::optional<std::uint64_t> number);
  void settle(const MessageAnswered& fact);

  Ref<Decider> core_;
  Ref<Transfers> transfers_;
  PerLease<std::vector<Waiter>> waiters_;
  std::map<UserId, std::deque<Instant>> sent_;  // Within the last minute, oldest first.
};

}  // namespace berth::core
