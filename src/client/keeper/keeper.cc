// SPDX-License-Identifier: Apache-2.0
#include "keeper/keeper.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "jobs/log_bound.h"
#include "keeper/log_settings.h"
#include "os/clock.h"
#include "wire/answers.h"
#include "wire/error.h"
#include "wire/request.h"

namespace berth::keeper {
namespace {

constexpr Duration kPauseLeast = milliseconds(50);
constexpr Duration kPauseMost = seconds(2);
// What has no pidfd has to be asked for; and logs, too.
constexpr Duration kLookEvery = seconds(1);

bool is_unknown(const client::Answer& answer) {
  return wire::decode_error(answer.body).code == to_text(RefusalCode::kNotFound);
}

}  // namespace

Keeper::Keeper(jobs::JobFolder folder, Ports ports)
    : folder_(std::move(folder)), ports_(std::move(ports)) {}

void complain(const std::string& sentence) {
  std::fprintf(stderr, "berth-keeper: %s\n", sentence.c_str());
}

void Keeper::run() {
  look_for_jobs();
  while (true) {
    const Instant now = os::PosixClock().now();
    for (auto& [key, tended] : jobs_) tend(tended, now);
    std::erase_if(jobs_, [](const auto& entry) { return entry.second.over; });
    std::vector<LeaseId> sets;
    for (const auto& [key, tended] : jobs_) {
      if (next_member_at(tended) <= now) sets.push_back(key.second);
    }
    for (const LeaseId set : sets) begin_member(set, now);
    if (logs_next_ <= now) bound_logs(now);
    if (!wait(os::PosixClock().now())) return;
  }
}

void Keeper::look_for_jobs() {
  for (const LeaseId id : folder_.list()) {
    if (!jobs_.contains({{}, id}) && !folder_.result(id)) take_up(folder_, {{}, id});
  }
}

void Keeper::take_up(const jobs::JobFolder& folder, Key key) {
  const LeaseId id = key.second;
  Result<jobs::Job> job = folder.read(id);
  Tended tended{.folder = folder, .job = job.ok() ? *job : jobs::Job{.id = id}};
  const Status read = !job.ok()                ? Status(job.error())
                      : tended.job.members > 0 ? read_members(tended)
                                               : Status(Unit{});
  if (!read.ok()) {
    complain("job " + tended.name() + " is left alone: " + read.error().message);
    return;
  }
  if (const std::uint32_t count = folder.attempts(id); count > 0) {
    tended.starter = find_starter(folder, id, count);
    tended.sight.starter_lives = tended.starter.has_value();
    if (tended.starter) tended.log_max = log_max(ports_.client.env);
    if (!tended.starter) note_attempt(tended);
  }
  if (tended.members) take_up_members(tended);
  jobs_.emplace(key, std::move(tended));
}

void Keeper::tend(Tended& tended, Instant now) {
  if (tended.starter) look_at_starter(tended);
  while (!tended.over && tended.next <= now) {
    const Next next = next_act(tended.sight);
    if (next.act == Act::kNothing) {
      tended.next = tended.starter && !tended.starter->pidfd ? now + kLookEvery : Instant::never();
      return;
    }
    act(tended, next, now);
  }
}

void Keeper::act(Tended& tended, const Next& next, Instant now) {
  switch (next.act) {
    case Act::kNothing:
      return;
    case Act::kAsk:
      return ask(tended, now);
    case Act::kLook:
      tended.sight.lease.reset();
      return try_later(tended, now);
    case Act::kListen:
      return listen(tended, now);
    case Act::kStart:
      return start(tended, now);
    case Act::kGiveUp:
      return give_up(tended, next.result, now);
    case Act::kFinish:
      return finish(tended, next.result, now);
  }
}

// Who waits for it learns of it by the daemon.
void Keeper::give_up(Tended& tended, const jobs::JobResult& result, Instant now) {
  client::Client* client = daemon(now);
  if (client == nullptr) return try_later(tended, now);
  const ExitBody body{
      .exit = {.code = result.code.value_or(static_cast<int>(wire::ExitCode::kNotExecutable)),
               .signal = 0},
      .leftovers = {},
      .restarts = checked(tended.sight.lease).restarts,
      .kind = EndKind::kFinal};
  const Result<client::Answer> answer = client->connection().ask(
      {.route = wire::Route::kExit, .lease = to_text(tended.job.handle), .body = body});
  if (answer.ok()) return finish(tended, result, now);
  client_.reset();
  try_later(tended, now);
}

void Keeper::ask(Tended& tended, Instant now) {
  client::Client* client = daemon(now);
  if (client == nullptr) return try_later(tended, now);
  const Result<client::Answer> answer =
      client->connection().ask({.route = wire::Route::kLease, .lease = to_text(tended.job.handle)});
  if (!answer.ok()) {
    client_.reset();
    return try_later(tended, now);
  }
  if (answer->ok()) {
    Result<wire::LeaseAnswer> lease = wire::decode_lease(answer->body);
    if (!lease.ok()) return try_later(tended, now);
    tended.sight.lease = std::move(lease->view);
    return;
  }
  tended.sight.is_forgotten = is_unknown(*answer);
  if (!tended.sight.is_forgotten) try_later(tended, now);
}

void Keeper::listen(Tended& tended, Instant now) {
  client::Client* client = daemon(now);
  if (client == nullptr) return try_later(tended, now);
  Result<client::Connection> stream = client->another();
  const ReconnectBody body{.restarts = checked(tended.sight.lease).restarts, .keep = true};
  const Status sent = stream.ok() ? stream->send({.route = wire::Route::kReconnect,
                                                  .lease = to_text(tended.job.handle),
                                                  .body = body})
                                  : Status(stream.error());
  if (!sent.ok()) {
    client_.reset();
    return try_later(tended, now);
  }
  tended.stream = *std::move(stream);
  tended.sight.listens = true;
}

// The stream ends with the grant, with the end of the request, or with the daemon.
void Keeper::receive(Tended& tended, Instant now) {
  while (tended.stream) {
    Result<std::optional<client::Arrival>> received = tended.stream->receive();
    if (received.ok() && !*received) return;
    const auto* event = received.ok() ? std::get_if<wire::SseEvent>(&checked(*received)) : nullptr;
    if (event != nullptr) {
      Result<wire::LeaseAnswer> lease = wire::decode_lease(event->data);
      if (lease.ok()) tended.sight.lease = std::move(lease->view);
      if (lease.ok()) tended.pause = {};
      continue;
    }
    const bool is_over =
        received.ok() && std::holds_alternative<client::StreamEnded>(checked(*received));
    const bool is_offered = tended.sight.lease && tended.sight.lease->flags.unclaimed;
    tended.stream.reset();
    tended.sight.listens = false;
    if (is_over && is_offered) {
      tended.next = now;
      return;
    }
    tended.sight.lease.reset();
    try_later(tended, now);
  }
}

void Keeper::start(Tended& tended, Instant now) {
  const std::uint32_t attempt = tended.folder.attempts(tended.job.id) + 1;
  Result<Starter> starter = start_attempt(tended.folder, tended.job, attempt,
                                          checked(tended.sight.lease).restarts, ports_.program);
  tended.sight.lease.reset();
  tended.sight.ended.reset();
  if (!starter.ok()) {
    complain("job " + tended.name() + ": " + starter.error().message);
    ++tended.sight.false_starts;
    return try_later(tended, now);
  }
  tended.starter = *std::move(starter);
  tended.log_max = log_max(ports_.client.env);
  tended.sight.starter_lives = true;
}

void Keeper::look_at_starter(Tended& tended) {
  const Starter& starter = checked(tended.starter);
  if (starter.pidfd) {
    pollfd wanted{starter.pidfd.get(), POLLIN, 0};
    if (::poll(&wanted, 1, 0) <= 0) return;
    if (starter.is_child) {
      ::waitid(P_PIDFD, static_cast<id_t>(starter.pidfd.get()), nullptr, WEXITED);
    }
  } else if (!tended.folder.has_ended(tended.job.id, starter.attempt)) {
    return;
  }
  bound_log(tended);
  tended.starter.reset();
  tended.sight.starter_lives = false;
  tended.sight.lease.reset();
  tended.pause = {};
  tended.next = {};
  note_attempt(tended);
}

void Keeper::note_attempt(Tended& tended) {
  const LeaseId id = tended.job.id;
  tended.sight.ended = tended.folder.attempt(id, tended.folder.attempts(id));
  tended.sight.false_starts = tended.sight.ended->ran ? 0 : tended.sight.false_starts + 1;
}

// A set is over after its members: their ends are written first.
void Keeper::finish(Tended& tended, const jobs::JobResult& result, Instant now) {
  if (tended.members && count_members(tended.job.id).live > 0) return try_later(tended, now);
  const Status finished = tended.folder.finish(tended.job.id, result);
  tended.over = finished.ok();
  if (tended.over) return;
  complain("job " + tended.name() + ": " + finished.error().message);
  try_later(tended, now);
}

void Keeper::try_later(Tended& tended, Instant now) {
  tended.pause = std::clamp(tended.pause + tended.pause, kPauseLeast, kPauseMost);
  tended.next = now + tended.pause;
}

// See Note [Bound of a log].
void Keeper::bound_logs(Instant now) {
  for (auto& [key, tended] : jobs_) bound_log(tended);
  logs_next_ = now + kLookEvery;
}

void Keeper::bound_log(Tended& tended) {
  if (!tended.starter || tended.log_max.value == 0) return;
  const Status bounded = jobs::bound_log(
      tended.folder.log_path(tended.job.id, tended.starter->attempt), tended.log_max);
  if (bounded.ok()) return;
  complain("job " + tended.name() + " may log without bound: " + bounded.error().message);
  tended.log_max = {};
}

// False: a signal ends it.
bool Keeper::wait(Instant now) {
  std::vector<pollfd> wanted = {{ports_.signals.descriptor(), POLLIN, 0},
                                {ports_.wake.get(), POLLIN, 0}};
  std::vector<Tended*> listening;
  Instant until = Instant::never();
  for (auto& [key, tended] : jobs_) {
    until = std::min({until, tended.next, next_member_at(tended)});
    if (tended.starter && tended.log_max.value > 0) until = std::min(until, logs_next_);
    if (tended.starter && tended.starter->pidfd) {
      wanted.push_back({tended.starter->pidfd.get(), POLLIN, 0});
    }
    if (!tended.stream) continue;
    wanted.push_back({tended.stream->descriptor(), POLLIN, 0});
    listening.push_back(&tended);
  }
  const auto left_ms = [&] { return std::max<std::int64_t>((until - now).ns / 1'000'000 + 1, 0); };
  const int timeout = until == Instant::never() ? -1 : static_cast<int>(left_ms());
  if (::poll(wanted.data(), wanted.size(), timeout) < 0) return true;
  if (wanted[0].revents != 0) return false;
  if (wanted[1].revents != 0) {
    std::array<char, 256> heard{};
    while (::read(ports_.wake.get(), heard.data(), heard.size()) > 0) {
    }
    look_for_jobs();
  }
  for (Tended* tended : listening) receive(*tended, os::PosixClock().now());
  return true;
}

client::Client* Keeper::daemon(Instant now) {
  if (client_) return &*client_;
  if (now < daemon_not_before_) return nullptr;
  Result<client::Client> client = client::Client::connect(ports_.client);
  if (!client.ok()) {
    complain(client.error().message);
    daemon_not_before_ = now + kPauseMost;
    return nullptr;
  }
  client_ = *std::move(client);
  return &*client_;
}

}  // namespace berth::keeper
