// SPDX-License-Identifier: Apache-2.0
#include "core/messages.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "base/quantity.h"
#include "core/limits.h"
#include "core/operations.h"

namespace berth::core {
namespace {

Refusal invalid(std::string why) {
  return {RefusalCode::kInvalid, std::move(why)};
}

Instant lapses(const Message& message) {
  return message.sent + limits::kMessageLasts;
}

std::optional<Refusal> refuse_text(const std::string& what, const std::string& text) {
  if (text.size() <= limits::kMessageText) return std::nullopt;
  return invalid(what + " of " + std::to_string(text.size()) + " bytes: at most " +
                 std::to_string(limits::kMessageText) + ", so say it shorter");
}

// Nobody's memory is with one that waits, or that ends.
std::optional<Refusal> refuse_state(const Lease& lease) {
  if (lease.held() != nullptr) return std::nullopt;
  const bool waits = lease.waiting() != nullptr;
  return Refusal{
      RefusalCode::kWrongState,
      text_of(lease.id) + (waits ? " waits, and holds nothing that could be asked of it"
                                 : " is being ended: what it held comes free by itself")};
}

// Whose messages the rule is for.
bool is_for(const MessageRule& rule, const Lease& lease, UserId sender) {
  if (rule.users.empty()) return sender == lease.user;
  return std::ranges::find(rule.users, sender.value) != rule.users.end();
}

std::string numbers_of(const std::vector<const Message*>& messages) {
  std::string text;
  for (const Message* message : messages) {
    text += (text.empty() ? "" : ", ") + std::to_string(message->number);
  }
  return text;
}

// Where the daemon asked it makes room meanwhile, so that no other is asked as well.
SuspendCause pause_of(const Message& message, const State& state, std::optional<Duration> lasts,
                      UserId by) {
  const std::string reason = "message " + std::to_string(message.number);
  SuspendCause cause{.paused = {{{.lasts = lasts, .reason = reason}, by}}};
  const Lease* whom = message.whom ? state.find(*message.whom) : nullptr;
  if (whom != nullptr && whom->waiting() != nullptr) cause.yields_to = message.whom;
  return cause;
}

std::string size_of(const Request& request) {
  return request.share == Share::kExclusive ? "a whole GPU" : to_text(request.vram);
}

}  // namespace

std::optional<Refusal> Messages::refuse_rule(const Request& request) {
  if (!request.on_message) return std::nullopt;
  const MessageRule& rule = *request.on_message;
  if (rule.answer == OnMessage::kNone && !rule.users.empty()) {
    return invalid(
        "users are named whose messages a rule is for, and no rule: say what it answers "
        "(--on-message \"pause 10m\", or refuse)");
  }
  if (rule.answer == OnMessage::kPause && request.ttl) {
    return invalid("a reservation has no programs that could be paused for a message");
  }
  const bool pauses = rule.answer == OnMessage::kPause;
  const bool lasts_well =
      rule.lasts && rule.lasts->ns > 0 && *rule.lasts <= limits::kMessagePauseMax;
  if (pauses && !lasts_well) {
    return invalid("a pause for messages lasts more than 0 and at most " +
                   to_text(limits::kMessagePauseMax) + ": --on-message \"pause 10m\"");
  }
  if (!pauses && rule.lasts) {
    return invalid("for how long is said of a pause alone: --on-message \"pause 10m\"");
  }
  return std::nullopt;
}

std::optional<Refusal> Messages::refuse_pace(UserId user) {
  const Instant now = core_->now().instant;
  for (auto each = sent_.begin(); each != sent_.end();) {
    std::deque<Instant>& times = each->second;
    while (!times.empty() && times.front() + minutes(1) <= now) times.pop_front();
    each = times.empty() ? sent_.erase(each) : std::next(each);
  }
  const auto found = sent_.find(user);
  if (found == sent_.end() || found->second.size() < limits::kMessagesAMinute) return std::nullopt;
  return Refusal{RefusalCode::kQueueFull,
                 "you have sent " + std::to_string(limits::kMessagesAMinute) +
                     " messages within a minute, as many as one user may: send it again in " +
                     to_text(found->second.front() + minutes(1) - now)};
}

// See Note [Who may send how much].
std::optional<Refusal> Messages::refuse(const Lease& lease, UserId user, const std::string& text) {
  if (text.find_first_not_of(' ') == std::string::npos) {
    return invalid("the message is empty: say what is asked of the holder of " + text_of(lease.id));
  }
  if (auto refusal = refuse_text("a message", text)) return refusal;
  if (auto refusal = refuse_state(lease)) return refusal;
  if (!core_->may_grant()) {
    return Refusal{RefusalCode::kWrongState,
                   "no message is taken while nothing can be written down (berth doctor)"};
  }
  const Instant now = core_->now().instant;
  std::size_t of_users = 0;
  Instant first = Instant::never();
  for (const Message* open : lease.messages.unanswered()) {
    if (open->from == user) {
      return Refusal{RefusalCode::kBusy,
                     text_of(lease.id) + " has your message " + std::to_string(open->number) +
                         ", and may have one of yours at a time: it is open until its holder "
                         "answers, or for another " +
                         to_text(lapses(*open) - now)};
    }
    of_users += open->from ? 1U : 0U;
    first = std::min(first, lapses(*open));
  }
  if (of_users >= limits::kMessagesOpen) {
    return Refusal{RefusalCode::kQueueFull,
                   text_of(lease.id) + " has " + std::to_string(of_users) +
                       " messages that its holder has not answered, as many as it may have: the "
                       "first of them lapses in " +
                       to_text(first - now)};
  }
  return refuse_pace(user);
}

// Anybody may ask; see Note [Messages ask, and nothing follows from them].
void Messages::on(const SendMessage& event) {
  const Actor anybody{.user = event.actor.user, .admin = true};
  const Lease* lease = core_->lease_of(event.token, anybody, event.lease);
  if (lease == nullptr) return;
  const UserId user = event.actor.user;
  if (auto refusal = refuse(*lease, user, event.body.text)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  sent_[user].push_back(core_->now().instant);
  const LeaseId id = lease->id;
  const std::uint64_t number = send(id, {.id = id, .from = user, .text = event.body.text});
  const Message* message = lease->messages.find(number);
  const Duration patience = event.body.wait_max.value_or(Duration{});
  if (message->answer || patience.ns <= 0) return core_->answer(event.token, id);
  waiters_[id].push_back({event.token, number, core_->now().instant + patience});
  core_->derive_deadline(id);
}

std::uint64_t Messages::send(LeaseId id, MessageSent fact) {
  const Lease* lease = core_->state().find(id);
  CHECK(lease != nullptr && lease->held() != nullptr);
  const std::uint64_t number = lease->messages.next_number();
  fact.number = number;
  core_->decide(id, std::move(fact));
  core_->notify(id, LeaseEvent::kMessageSent);
  apply_rule(id, number);
  return number;
}

void Messages::apply_rule(LeaseId id, std::uint64_t number) {
  const Lease& lease = *core_->state().find(id);
  if (!lease.request.on_message || lease.request.on_message->answer == OnMessage::kNone) return;
  const MessageRule rule = *lease.request.on_message;
  const Message& message = *lease.messages.find(number);
  const Lease* whom = message.whom ? core_->state().find(*message.whom) : nullptr;
  const std::optional<UserId> sender = whom != nullptr ? std::optional(whom->user) : message.from;
  if (!sender || !is_for(rule, lease, *sender) || lease.checkpoints.asked) return;
  const Message* ruled = lease.messages.last_by_rule();
  const Duration every = core_->settings().message_every;
  if (ruled != nullptr && core_->now().instant - *ruled->answered < every) return;
  if (rule.answer == OnMessage::kRefuse) {
    return settle({.id = id, .number = number, .answer = MessageAnswer::kRefused});
  }
  // What cannot be paused now is not agreed to: its holder may say more.
  const Verdict may = verdict(Operation::kSuspend, transfers_->standing_of(lease));
  if (may.answer != Answer::kAccept || !core_->may_grant()) return;
  const SuspendCause cause = pause_of(message, core_->state(), rule.lasts, lease.user);
  settle({.id = id, .number = number, .answer = MessageAnswer::kAgreed});
  transfers_->suspend(id, cause);
}

Messages::Chosen Messages::chosen(const Lease& lease, std::optional<std::uint64_t> number) {
  const std::vector<const Message*> open = lease.messages.unanswered();
  if (number) {
    const Message* named = lease.messages.find(*number);
    if (named != nullptr && !named->answer) return named;
    return Refusal{RefusalCode::kWrongState,
                   text_of(lease.id) + " has no open message " + std::to_string(*number) +
                       (open.empty() ? "" : "; there are: " + numbers_of(open))};
  }
  if (open.size() == 1) return open.front();
  if (open.empty()) {
    return Refusal{RefusalCode::kWrongState, text_of(lease.id) +
                                                 " has no message that waits for an answer "
                                                 "(berth show " +
                                                 std::to_string(lease.id.value) + ")"};
  }
  return Refusal{RefusalCode::kAmbiguous, text_of(lease.id) + " has several open messages: " +
                                              numbers_of(open) + "; say which with --number"};
}

void Messages::on(const AgreeToMessage& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  Chosen found = chosen(*lease, event.body.number);
  if (auto* refusal = std::get_if<Refusal>(&found)) {
    return core_->refuse(event.token, std::move(*refusal));
  }
  const Message& message = *std::get<const Message*>(found);
  const std::optional<Duration> lasts = event.body.lasts;
  if (lasts) {
    const Verdict may = verdict(Operation::kSuspend, transfers_->standing_of(*lease));
    const std::string why =
        may.answer == Answer::kRefuse ? refusal_text(id, may, transfers_->of(id).stuck)
        : may.answer == Answer::kJoin ? text_of(id) + " is suspended already, or on the way there"
        : core_->may_grant()
            ? ""
            : text_of(id) + " is not moved while nothing can be written down (berth doctor)";
    if (!why.empty()) {
      return core_->refuse(event.token, RefusalCode::kWrongState, why + ": nothing was answered");
    }
  }
  const UserId by = event.actor.user;
  const SuspendCause cause = pause_of(message, core_->state(), lasts, by);
  settle({.id = id, .number = message.number, .answer = MessageAnswer::kAgreed, .by = by});
  if (lasts) transfers_->suspend(id, cause);
  core_->answer(event.token, id);
}

void Messages::on(const RefuseMessage& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  if (auto refusal = refuse_text("a reason", event.body.why)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  Chosen found = chosen(*lease, event.body.number);
  if (auto* refusal = std::get_if<Refusal>(&found)) {
    return core_->refuse(event.token, std::move(*refusal));
  }
  settle({.id = lease->id,
          .number = std::get<const Message*>(found)->number,
          .answer = MessageAnswer::kRefused,
          .why = event.body.why,
          .by = event.actor.user});
  core_->answer(event.token, lease->id);
}

void Messages::settle(const MessageAnswered& fact) {
  const Message* open = core_->state().find(fact.id)->messages.find(fact.number);
  CHECK(open != nullptr && !open->answer);
  core_->decide(fact.id, fact);
  core_->notify(fact.id, LeaseEvent::kMessageAnswered);
  std::vector<Waiter>& waiters = waiters_[fact.id];
  for (const Waiter& waiter : waiters) {
    if (waiter.number == fact.number) core_->answer(waiter.token, fact.id);
  }
  std::erase_if(waiters, [&](const Waiter& waiter) { return waiter.number == fact.number; });
  core_->derive_deadline(fact.id);
}

// Once for each request, one lease at a time for it, and of one lease not again and again.
bool Messages::may_ask_for_room(const Lease& lease, LeaseId whom) const {
  const Instant now = core_->now().instant;
  return std::ranges::none_of(lease.messages.all(), [&](const Message& message) {
    const bool is_of_late = now - message.sent < core_->settings().message_every;
    return message.whom && (message.whom == whom || !message.answer || is_of_late);
  });
}

bool Messages::has_agreed(const Lease& lease, LeaseId whom) {
  return std::ranges::any_of(lease.messages.all(), [&](const Message& message) {
    return message.whom == whom && message.answer == MessageAnswer::kAgreed;
  });
}

bool Messages::awaits_room(LeaseId whom) const {
  return std::ranges::any_of(core_->state().leases(), [&](const auto& each) {
    return std::ranges::any_of(each.second.messages.all(), [&](const Message& message) {
      return message.whom == whom && !message.answer;
    });
  });
}

void Messages::ask_for_room(LeaseId id, LeaseId whom, Instant idle_since) {
  const Lease& waiter = *core_->state().find(whom);
  const Duration idle = core_->now().instant - idle_since;
  (void)send(id, {.id = id,
                  .whom = whom,
                  .text = text_of(whom) + " waits for " + size_of(waiter.request) +
                          ", and this one has been idle for " + to_text(idle) +
                          ": may it make room until that ends?"});
}

Instant Messages::due(const Lease& lease) const {
  Instant at = Instant::never();
  for (const Message* open : lease.messages.unanswered()) at = std::min(at, lapses(*open));
  for (const Waiter& waiter : waiters_.at(lease.id)) at = std::min(at, waiter.until);
  return at;
}

bool Messages::tend(LeaseId id) {
  const Instant now = core_->now().instant;
  const Lease& lease = *core_->state().find(id);
  if (due(lease) > now) return false;
  for (const Message* open : lease.messages.unanswered()) {
    if (lapses(*open) > now) continue;
    settle({.id = id, .number = open->number, .answer = MessageAnswer::kLapsed});
    return true;
  }
  std::vector<Waiter>& waiters = waiters_[id];
  for (const Waiter& waiter : waiters) {
    if (waiter.until <= now) core_->answer(waiter.token, id);
  }
  std::erase_if(waiters, [&](const Waiter& waiter) { return waiter.until <= now; });
  core_->derive_deadline(id);
  return true;
}

void Messages::forget(LeaseId id) {
  for (const Waiter& waiter : waiters_.at(id)) {
    core_->refuse(waiter.token, RefusalCode::kWrongState,
                  text_of(id) + " has ended, and nobody had answered");
  }
  waiters_.forget(id);
}

}  // namespace berth::core
