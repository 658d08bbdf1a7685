// SPDX-License-Identifier: Apache-2.0
#include "agents/toolbox.h"

#include <algorithm>
#include <utility>

#include "agents/job_log.h"
#include "agents/resources.h"
#include "agents/results.h"
#include "base/checked.h"
#include "base/quantity.h"
#include "base/shell.h"
#include "mcp/arguments.h"
#include "wire/request.h"

namespace berth::agents {
namespace {

constexpr Duration kProgressEvery = seconds(5);

Request request_of(const RoomArguments& room) {
  Request request;
  if (room.exclusive) request.share = Share::kExclusive;
  if (!room.memory.empty()) request.vram = *parse_bytes(room.memory);  // fault_of() has looked.
  request.device_count = room.gpus;
  return request;
}

std::string run_line(LeaseId lease) {
  return "berth run --lease " + to_text(lease) + " -- COMMAND";
}

}  // namespace

Toolbox::Toolbox(Ports ports)
    : reader_(std::move(ports.reader)),
      jobs_(std::move(ports.jobs)),
      starter_(std::move(ports.starter)),
      daemon_(std::move(ports.client)),
      tickets_(daemon_) {}

const std::vector<Toolbox::Row>& Toolbox::rows() {
  static const std::vector<Row> kRows = {
      {"gpu_status", &Toolbox::status},   {"gpu_check_fit", &Toolbox::check_fit},
      {"gpu_acquire", &Toolbox::acquire}, {"gpu_renew", &Toolbox::renew},
      {"gpu_release", &Toolbox::release}, {"gpu_run", &Toolbox::run},
      {"gpu_job", &Toolbox::job},         {"gpu_control", &Toolbox::control},
      {"gpu_message", &Toolbox::message},
  };
  return kRows;
}

void Toolbox::begin(const mcp::BeginCall& call, Instant now) {
  if (call.target == mcp::Target::kResource) {
    news_.push_back(Finished{
        call.call, read_resource(call.name, {daemon_, reader_, jobs_, starter_.has_value()})});
    return;
  }
  if (call.target == mcp::Target::kPrompt) {
    news_.push_back(Finished{call.call, share_gpu()});
    return;
  }
  const auto row = std::ranges::find(rows(), call.name, &Row::name);
  CHECK(call.target == mcp::Target::kTool && row != rows().end());  // The catalog has no other.
  if (Step done = (this->*row->perform)(call, now)) {
    news_.push_back(Finished{call.call, *std::move(done)});
  }
}

void Toolbox::look(Instant now) {
  tickets_.look(now);
  for (auto i = calls_.begin(); i != calls_.end();) {
    Call& call = i->second;
    Step done = call.ticket ? look_at_ticket(call, now) : look_at_question(call, now);
    if (done) {
      news_.push_back(Finished{i->first, *std::move(done)});
      i = calls_.erase(i);
      continue;
    }
    if (call.begun.wants_progress && call.told + kProgressEvery <= now) {
      call.told = now;
      const auto seconds_of = [](Duration time) { return static_cast<double>(time.ns) / 1e9; };
      news_.push_back(Advanced{
          i->first,
          {.done = seconds_of(now - call.since), .total = seconds_of(call.until - call.since)}});
    }
    ++i;
  }
}

std::vector<int> Toolbox::descriptors() const {
  std::vector<int> all = tickets_.descriptors();
  for (const auto& [id, call] : calls_) {
    if (call.connection) all.push_back(call.connection->descriptor());
  }
  return all;
}

Instant Toolbox::wake_at() const {
  Instant at = tickets_.wake_at();
  for (const auto& [id, call] : calls_) {
    at = std::min(at, call.until);
    if (call.begun.wants_progress) at = std::min(at, call.told + kProgressEvery);
  }
  return at;
}

LeaseFacts Toolbox::facts(const wire::LeaseAnswer& lease) const {
  return facts_of(lease.view, lease.names, reader_);
}

Answered<wire::LeaseAnswer> Toolbox::find_lease(const LeaseName& name) {
  return daemon_.ask({.route = wire::Route::kLease, .lease = reference_of(name)},
                     wire::decode_lease);
}

Toolbox::Step Toolbox::status(const mcp::BeginCall& call, Instant) {
  const auto arguments = mcp::read_arguments<StatusArguments>(call.arguments);
  if (!arguments.ok()) return mcp::failed(arguments.error());
  const auto status = daemon_.ask({.route = wire::Route::kStatus}, wire::decode_status);
  if (const auto* error = std::get_if<wire::ApiError>(&status)) return refused(*error);
  return result_of(facts_of(std::get<wire::NamedStatus>(status), arguments->detail, reader_));
}

Toolbox::Step Toolbox::check_fit(const mcp::BeginCall& call, Instant) {
  const auto room = mcp::read_arguments<RoomArguments>(call.arguments);
  if (!room.ok()) return mcp::failed(room.error());
  const auto fit =
      daemon_.ask({.route = wire::Route::kFit, .body = RequestBody{.request = request_of(*room)}},
                  wire::decode_named_fit);
  if (const auto* error = std::get_if<wire::ApiError>(&fit)) return refused(*error);
  const auto& named = std::get<wire::NamedFit>(fit);
  return result_of(facts_of(named.fit, named.names, reader_));
}

Toolbox::Step Toolbox::acquire(const mcp::BeginCall& call, Instant now) {
  const auto read = mcp::read_arguments<AcquireArguments>(call.arguments);
  if (!read.ok()) return mcp::failed(read.error());
  const AcquireArguments& arguments = *read;
  // Its number is told at least.
  const Instant until = now + std::max(seconds(arguments.wait_s), milliseconds(500));
  if (arguments.ticket) {
    if (const auto ticket = tickets_.find(*arguments.ticket)) {
      return wait_for_ticket({.begun = call,
                              .ticket = ticket,
                              .is_ticket_told = true,
                              .since = now,
                              .until = until,
                              .told = now});
    }
    return refused("There is no ticket " + to_text(*arguments.ticket) +
                   " of this client: it was granted, has ended, or is another's. gpu_job says how "
                   "lease " +
                   to_text(*arguments.ticket) + " stands.");
  }
  Request request = request_of(arguments.room);
  request.name = arguments.name;
  request.session = reader_.session;
  request.priority = arguments.priority;
  request.ttl = minutes(arguments.minutes);
  request.while_used = true;
  request.key = arguments.key;
  const Answered<Tickets::Number> asked =
      tickets_.ask({.request = std::move(request),
                    .named = {.priority = arguments.priority != Priority::kNormal,
                              .share = arguments.room.exclusive}});
  if (const auto* error = std::get_if<wire::ApiError>(&asked)) return refused(*error);
  return wait_for_ticket({.begun = call,
                          .ticket = std::get<Tickets::Number>(asked),
                          .since = now,
                          .until = until,
                          .told = now});
}

Toolbox::Step Toolbox::wait_for_ticket(Call waits) {
  if (Step done = look_at_ticket(waits, waits.since)) return done;
  const mcp::CallId id = waits.begun.call;
  calls_.emplace(id, std::move(waits));
  return std::nullopt;
}

void Toolbox::cancel(mcp::CallId id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const Call& call = found->second;
  if (call.ticket && !call.is_ticket_told) tickets_.forget(*call.ticket);
  calls_.erase(found);
}

Toolbox::Step Toolbox::look_at_ticket(const Call& call, Instant now) {
  const Tickets::Number number = checked(call.ticket);
  const Ticket* found = tickets_.at(number);
  if (found == nullptr) return refused("Another call has been told what became of that request.");
  const Ticket& ticket = *found;
  if (ticket.refusal) {
    const wire::ApiError error = *ticket.refusal;
    tickets_.forget(number);
    return refused(error);
  }
  if (!ticket.is_granted && call.until > now) return std::nullopt;
  if (!ticket.lease) {
    tickets_.forget(number);
    return refused(wire::error_of(wire::code::kTimeout, "the daemon has not answered"));
  }
  AcquireAnswer answer{.lease = facts(*ticket.lease)};
  if (ticket.is_granted) {
    answer.state = Turn::kGranted;
    answer.run_with = run_line(ticket.lease->view.id);
    tickets_.forget(number);
    return result_of(answer);
  }
  answer.ticket = ticket.lease->view.id;
  // Which place it has, and who is in its way, is asked now: the stream told what it was.
  const auto why =
      daemon_.ask({.route = wire::Route::kWhy, .lease = to_text(*answer.ticket)}, wire::decode_why);
  if (const auto* named = std::get_if<wire::NamedWhy>(&why)) {
    answer.lease.queue_position = named->why.position;
    answer.lease.check_again_after = named->why.check_again_after;
    answer.expected_start = named->why.expected_start;
    answer.blockers = blockers_of(named->why.holders, named->names, reader_);
  }
  return result_of(answer);
}

Toolbox::Step Toolbox::renew(const mcp::BeginCall& call, Instant) {
  const auto read = mcp::read_arguments<RenewArguments>(call.arguments);
  if (!read.ok()) return mcp::failed(read.error());
  const RenewArguments& arguments = *read;
  const std::string lease = reference_of(arguments.lease);
  std::vector<client::HttpRequest> questions;
  if (arguments.minutes) {
    questions.push_back({.route = wire::Route::kRenew,
                         .lease = lease,
                         .body = RenewBody{.ttl = minutes(*arguments.minutes)}});
  }
  if (!arguments.memory.empty()) {
    questions.push_back({.route = wire::Route::kResize,
                         .lease = lease,
                         .body = ResizeBody{.vram = *parse_bytes(arguments.memory)}});
  }
  if (arguments.done) {
    questions.push_back({.route = wire::Route::kProgress,
                         .lease = lease,
                         .body = ProgressBody{.done = *arguments.done,
                                              .total = arguments.total,
                                              .left = {},
                                              .note = arguments.note}});
  }
  for (const client::HttpRequest& question : questions) {
    const auto answer = daemon_.ask(question);
    if (const auto* error = std::get_if<wire::ApiError>(&answer)) return refused(*error);
  }
  const auto now_is = find_lease(arguments.lease);
  if (const auto* error = std::get_if<wire::ApiError>(&now_is)) return refused(*error);
  return result_of(ControlAnswer{.lease = facts(std::get<wire::LeaseAnswer>(now_is))});
}

// What is released already is fine: the answer to the first time may have been lost.
Toolbox::Step Toolbox::release(const mcp::BeginCall& call, Instant) {
  const auto arguments = mcp::read_arguments<ReleaseArguments>(call.arguments);
  if (!arguments.ok()) return mcp::failed(arguments.error());
  auto lease = find_lease(arguments->lease);
  if (const auto* error = std::get_if<wire::ApiError>(&lease)) return refused(*error);
  wire::LeaseAnswer& found = std::get<wire::LeaseAnswer>(lease);
  const bool is_live =
      found.view.state != LeaseState::kEnded && found.view.state != LeaseState::kReleasing;
  if (is_live) {
    if (const auto ticket = tickets_.find(found.view.id)) tickets_.forget(*ticket);
    const bool waits = found.view.state == LeaseState::kWaiting;
    client::HttpRequest question{.route = waits ? wire::Route::kCancel : wire::Route::kRelease,
                                 .lease = to_text(found.view.id)};
    if (!waits) question.body = ReleaseBody{};
    auto answer = daemon_.ask(question, wire::decode_lease);
    if (const auto* error = std::get_if<wire::ApiError>(&answer)) return refused(*error);
    found = std::get<wire::LeaseAnswer>(std::move(answer));
  }
  return result_of(ControlAnswer{.lease = facts(found)});
}

// What runs where: a command that a tool starts is outside of what the client's user allows its
// shell. So this answers with the line, and the shell asks whom it has to ask.
Toolbox::Step Toolbox::run(const mcp::BeginCall& call, Instant) {
  const auto read = mcp::read_arguments<RunArguments>(call.arguments);
  if (!read.ok()) return mcp::failed(read.error());
  const RunArguments& arguments = *read;
  // What is to run in a lease is for the shell that works in it.
  if (starter_ && !arguments.lease) {
    const Result<LeaseId> job = starter_->submit(arguments, call.client.name, reader_.session);
    if (!job.ok()) return refused("It was not submitted: " + job.error().message);
    return result_of(RunAnswer{.run_with = {}, .job = *job});
  }
  std::string line = "berth run";
  if (arguments.lease) {
    line += " --lease " + quoted_for_shell(reference_of(*arguments.lease));
  } else {
    line += arguments.room.exclusive ? " -x" : " -m " + quoted_for_shell(arguments.room.memory);
    if (arguments.room.gpus > 1) line += " -g " + std::to_string(arguments.room.gpus);
  }
  line += " --";
  for (const std::string& word : arguments.command) line += " " + quoted_for_shell(word);
  return result_of(RunAnswer{.run_with = line, .job = {}});
}

Toolbox::Step Toolbox::job(const mcp::BeginCall& call, Instant) {
  const auto arguments = mcp::read_arguments<JobArguments>(call.arguments);
  if (!arguments.ok()) return mcp::failed(arguments.error());
  const auto lease = find_lease(arguments->job);
  if (const auto* error = std::get_if<wire::ApiError>(&lease)) return refused(*error);
  const auto& found = std::get<wire::LeaseAnswer>(lease);
  JobAnswer answer{.job = facts(found)};
  if (!answer.job.is_yours) {
    return refused("Lease " + to_text(answer.job.lease) + " is " + answer.job.owner +
                   "'s: gpu_status shows what others may know of it.");
  }
  if (jobs_) answer.log = last_lines_of_job(*jobs_, found.view.id, arguments->lines);
  std::string& told = told_of_jobs_[found.view.id];
  std::string facts_now = wire::answer_text(answer);
  answer.is_news = facts_now != told;
  told = std::move(facts_now);
  if (!answer.is_news) answer.log.clear();
  return result_of(answer);
}

}  // namespace berth::agents
