// SPDX-License-Identifier: Apache-2.0
// Tools that change a lease which runs, and may take long.
#include <utility>

#include "agents/results.h"
#include "agents/toolbox.h"
#include "base/checked.h"
#include "mcp/arguments.h"
#include "wire/request.h"

namespace berth::agents {
namespace {

constexpr std::string_view kConfirm = "confirm";
constexpr std::string_view kConfirmSchema =
    R"({"type":"object","properties":{"confirm":{"type":"boolean","title":"Do it"}},)"
    R"("required":["confirm"]})";

client::HttpRequest question_of(const ControlArguments& arguments, LeaseId lease) {
  client::HttpRequest question{.route = wire::Route::kSuspend, .lease = to_text(lease)};
  switch (arguments.action) {
    case Action::kPause:
      question.body = PauseBody{};
      break;
    case Action::kResume:
      question.route = wire::Route::kResume;
      break;
    case Action::kCheckpoint:
      question.route = wire::Route::kCheckpoint;
      question.body = CheckpointBody{};
      break;
    case Action::kCancel:
      question.route = wire::Route::kCancel;
      break;
    case Action::kMove: {
      MoveBody body;
      for (const std::uint32_t index : arguments.gpus) body.devices.emplace_back(index);
      question.route = wire::Route::kMove;
      question.body = std::move(body);
      break;
    }
  }
  return question;
}

client::HttpRequest question_of(const MessageArguments& arguments, LeaseId lease) {
  client::HttpRequest question{.route = wire::Route::kMessage, .lease = to_text(lease)};
  if (arguments.answer == Reply::kAgree) {
    AgreeBody body{.number = arguments.number, .lasts = {}};
    if (arguments.pause_minutes) body.lasts = minutes(*arguments.pause_minutes);
    question.route = wire::Route::kAgree;
    question.body = body;
  } else if (arguments.answer) {
    question.route = wire::Route::kRefuse;
    question.body = RefuseBody{.number = arguments.number, .why = arguments.text};
  } else {
    MessageBody body{.text = arguments.text, .wait_max = {}};
    if (arguments.wait_s > 0) body.wait_max = seconds(arguments.wait_s);
    question.body = std::move(body);
  }
  return question;
}

// Which message a call of gpu_message was about: the one that it sent, or answered; null: that is
// not there any more.
const Message* message_of(const LeaseView& lease, UserId user, bool is_answer) {
  const Message* last = nullptr;
  for (const Message& message : lease.messages) {
    if (is_answer ? !message.answered_at.has_value() : message.from != user) continue;
    if (last != nullptr && is_answer && message.answered_at < last->answered_at) continue;
    last = &message;
  }
  return last;
}

bool is_confirmed(const std::string& answer) {
  const mcp::Reply reply = mcp::read_reply(answer);
  return reply.action == mcp::Action::kAccept &&
         mcp::answer_named(kConfirm, reply.content) == "true";
}

}  // namespace

// Leases of another session of the same user are another agent's, or a person's: who that user is
// has to be asked, by the client. Those of other users are not touched.
Toolbox::Step Toolbox::control(const mcp::BeginCall& call, Instant now) {
  const auto arguments = mcp::read_arguments<ControlArguments>(call.arguments);
  if (!arguments.ok()) return mcp::failed(arguments.error());
  const auto lease = find_lease(arguments->lease);
  if (const auto* error = std::get_if<wire::ApiError>(&lease)) return refused(*error);
  const LeaseFacts found = facts(std::get<wire::LeaseAnswer>(lease));
  const std::string name = "lease " + to_text(found.lease);
  if (!found.is_yours) {
    return refused("not_yours: " + name + " is " + found.owner +
                   "'s, who alone may do that; gpu_message asks them.");
  }
  if (found.is_this_session) return perform_control(call, *arguments, found.lease, now);
  const std::string question = std::string(to_text(arguments->action)) + " " + name +
                               ", which this session has not asked for?";
  if (!call.answers.empty()) {
    if (is_confirmed(mcp::answer_named(kConfirm, call.answers))) {
      return perform_control(call, *arguments, found.lease, now);
    }
    return refused("Its user did not agree.");
  }
  if (!call.client.can(mcp::Ability::kForm)) {
    return refused(name +
                   " was asked for by another session of this user, and this client cannot "
                   "ask whether it may: your user can, with berth " +
                   std::string(to_text(arguments->action)) + " " + to_text(found.lease) + ".");
  }
  const mcp::Question form = mcp::form(question, kConfirmSchema);
  if (call.era == mcp::Era::kModern) {
    return mcp::InputRequired{.questions = {{std::string(kConfirm), form}}};
  }
  news_.push_back(Asks{call.call, form});
  // The client's user may think about it.
  calls_.emplace(call.call, Call{.begun = call,
                                 .lease = found.lease,
                                 .since = now,
                                 .until = now + minutes(5),
                                 .told = now});
  return std::nullopt;
}

void Toolbox::answered(const mcp::Answered& answer, Instant now) {
  const auto found = calls_.find(answer.call);
  if (found == calls_.end()) return;
  const Call call = std::move(found->second);
  calls_.erase(found);
  Step done = refused("Its user did not agree.");
  if (is_confirmed(answer.answer)) {
    const auto arguments = mcp::read_arguments<ControlArguments>(call.begun.arguments);
    CHECK(arguments.ok());  // They were read before.
    done = perform_control(call.begun, *arguments, call.lease, now);
  }
  if (done) news_.push_back(Finished{answer.call, *std::move(done)});
}

Toolbox::Step Toolbox::perform_control(const mcp::BeginCall& call,
                                       const ControlArguments& arguments, LeaseId lease,
                                       Instant now) {
  return ask_long(call, question_of(arguments, lease), lease, seconds(kWaitMostSeconds), now);
}

Toolbox::Step Toolbox::message(const mcp::BeginCall& call, Instant now) {
  const auto arguments = mcp::read_arguments<MessageArguments>(call.arguments);
  if (!arguments.ok()) return mcp::failed(arguments.error());
  const auto lease = find_lease(arguments->lease);
  if (const auto* error = std::get_if<wire::ApiError>(&lease)) return refused(*error);
  const LeaseFacts found = facts(std::get<wire::LeaseAnswer>(lease));
  if (arguments->answer && !found.is_this_session) {
    return refused("not_yours: lease " + to_text(found.lease) +
                   " is not of this session; who holds it answers, with berth agree or berth "
                   "refuse.");
  }
  const client::HttpRequest question = question_of(*arguments, found.lease);
  const Duration within = seconds(arguments->answer ? kWaitMostSeconds : arguments->wait_s + 10);
  return ask_long(call, question, found.lease, within, now);
}

Toolbox::Step Toolbox::ask_long(const mcp::BeginCall& call, const client::HttpRequest& question,
                                LeaseId lease, Duration within, Instant now) {
  Answered<client::Connection> connection = daemon_.connect();
  if (const auto* error = std::get_if<wire::ApiError>(&connection)) return refused(*error);
  Call waits{.begun = call,
             .connection = std::get<client::Connection>(std::move(connection)),
             .lease = lease,
             .since = now,
             .until = now + within,
             .told = now};
  const Status sent = waits.connection->begin(question);
  if (!sent.ok()) return refused(error_of(sent.error()));
  calls_.emplace(call.call, std::move(waits));
  return std::nullopt;
}

Toolbox::Step Toolbox::look_at_question(Call& call, Instant now) {
  if (!call.connection) {  // Its client's user is being asked.
    return call.until > now ? Step() : refused("Its user has not answered.");
  }
  Result<std::optional<client::Arrival>> received = call.connection->receive();
  if (!received.ok()) return refused(error_of(received.error()));
  if (const std::optional<client::Arrival>& arrival = *received) {
    const auto* answer = std::get_if<client::Answer>(&*arrival);
    if (answer == nullptr) return refused(wire::error_of(wire::code::kInternal, ""));
    if (!answer->ok()) return refused(wire::decode_error(answer->body));
    const Result<wire::LeaseAnswer> lease = wire::decode_lease(answer->body);
    if (!lease.ok()) return refused(wire::error_of(wire::code::kVersion, ""));
    return long_answer(call, *lease, true);
  }
  if (call.until > now) return std::nullopt;
  const auto lease = find_lease(call.lease.value);
  if (const auto* error = std::get_if<wire::ApiError>(&lease)) return refused(*error);
  return long_answer(call, std::get<wire::LeaseAnswer>(lease), false);
}

mcp::ToolResult Toolbox::long_answer(const Call& call, const wire::LeaseAnswer& lease,
                                     bool is_over) const {
  if (call.begun.name != "gpu_message") {
    ControlAnswer answer{.lease = facts(lease), .is_under_way = !is_over};
    const auto& last = lease.view.checkpoints.last;
    if (last) answer.save = said(answer.lease.owner, last->detail);
    return result_of(answer);
  }
  MessageReply reply{.lease = facts(lease)};
  const auto arguments = mcp::read_arguments<MessageArguments>(call.begun.arguments);
  const bool is_answer = arguments.ok() && arguments->answer.has_value();
  if (const Message* message = message_of(lease.view, reader_.user, is_answer)) {
    reply.number = message->number;
    reply.answer = message->answer;
    reply.why = said(reply.lease.owner, message->why);
  }
  return result_of(reply);
}

}  // namespace berth::agents
