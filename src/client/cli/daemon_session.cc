// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_session.h"

#include <variant>

#include "base/checked.h"
#include "cli/keeper.h"
#include "os/clock.h"
#include "os/users.h"

namespace berth::cli {

bool DaemonSession::open() {
  const bool may_start = invocation_.common.autostart && client::autostart_allowed_by_environment();
  return open(may_start ? client::Autostart::kIfNeeded : client::Autostart::kNever);
}

bool DaemonSession::open(client::Autostart autostart) {
  autostart_ = autostart;
  const os::Environment env = os::read_environment();
  auto connected = connect(env, autostart);
  if (!connected.ok()) {
    fail(connected.error());
    return false;
  }
  client_.emplace(*std::move(connected));
  wake_keeper_for_jobs(env);
  return true;
}

DaemonSession::Found DaemonSession::find() {
  auto connected = connect(os::read_environment(), client::Autostart::kNever);
  if (!connected.ok()) {
    if (connected.error().code == Errc::kUnavailable) return Found::kNobody;
    fail(connected.error());
    return Found::kFailed;
  }
  client_.emplace(*std::move(connected));
  return Found::kDaemon;
}

Result<client::Client> DaemonSession::connect(const os::Environment& env,
                                              client::Autostart autostart) const {
  return client::Client::connect({
      .env = env,
      .autostart = autostart,
      .version = BERTH_VERSION,
      .say =
          [quiet = quiet_](std::string_view line) {
            if (!quiet) complain("berth: " + std::string(line) + "\n");
          },
  });
}

std::optional<std::string> DaemonSession::ask(const client::HttpRequest& question,
                                              Duration within) {
  auto answer = checked(client_).connection().ask(question, within);
  const bool changes_nothing = row_of(question.route).method == Method::kGet;
  if (changes_nothing && is_lost(answer)) {
    if (!open(autostart_)) return std::nullopt;
    answer = checked(client_).connection().ask(question, within);
  }
  return body_of(std::move(answer));
}

std::optional<std::string> DaemonSession::get(const std::string& target) {
  auto answer = checked(client_).connection().get(target);
  if (is_lost(answer)) {
    if (!open(autostart_)) return std::nullopt;
    answer = checked(client_).connection().get(target);
  }
  return body_of(std::move(answer));
}

// A daemon that is killed can still be connected to until the kernel has taken it apart.
bool DaemonSession::is_lost(const Result<client::Answer>& answer) {
  return !answer.ok() && answer.error().code == Errc::kUnavailable &&
         !checked(client_).connection().has_heard();
}

std::optional<std::string> DaemonSession::body_of(Result<client::Answer> answer) {
  if (!answer.ok()) {
    fail(answer.error());
    return std::nullopt;
  }
  if (const auto& daemon = checked(client_).connection().daemon()) simulated_ = daemon->simulated;
  if (answer->ok()) return std::move(answer->body);
  fail(wire::decode_error(answer->body));
  return std::nullopt;
}

std::optional<wire::LeaseAnswer> DaemonSession::wait_for_end(
    const std::string& handle, Duration within,
    const std::function<bool(const LeaseView&)>& goes_on) {
  const os::PosixClock clock;
  const Instant until = clock.now() + within;
  std::optional<wire::LeaseAnswer> last;
  // A connection of its own, because it is left in the middle of the stream.
  auto connected = checked(client_).another();
  const Status sent = connected.ok()
                          ? connected->send({.route = wire::Route::kLeaseEvents, .lease = handle})
                          : Status(connected.error());
  if (!sent.ok()) {
    fail(sent.error());
    return last;
  }
  while (clock.now() < until) {
    auto arrival = connected->wait(until - clock.now());
    if (!arrival.ok()) {
      if (arrival.error().code != Errc::kTimedOut) fail(arrival.error());
      return last;
    }
    if (auto* answer = std::get_if<client::Answer>(&*arrival)) {
      static_cast<void>(body_of(std::move(*answer)));
      return last;
    }
    const auto* event = std::get_if<wire::SseEvent>(&*arrival);
    if (event == nullptr) return last;
    if (auto lease = wire::decode_lease(event->data); lease.ok()) last = *std::move(lease);
    if (last && (last->view.state == LeaseState::kEnded || !goes_on(last->view))) return last;
  }
  return last;
}

void DaemonSession::fail(ExitCode code, std::string_view sentence) {
  static_cast<void>(invocation_.fail(code, sentence));
  note(code);
}

void DaemonSession::fail(const wire::ApiError& error) {
  static_cast<void>(invocation_.fail(error));
  note(wire::exit_code(error.code));
}

void DaemonSession::note(ExitCode code) {
  if (status_ == to_status(ExitCode::kOk)) status_ = to_status(code);
}

void DaemonSession::fail(const Error& error) {
  fail(static_cast<ExitCode>(client::exit_status_of(error)), error.message);
}

RenderContext DaemonSession::context() const {
  const Terminal& terminal = invocation_.terminal;
  return {
      .charset = {.unicode = terminal.unicode, .colour = terminal.colour},
      .width = terminal.width,
      .now = os::PosixClock().wall(),
      .me = os::own_user(),
      .user_name =
          [names = names_](UserId user) {
            const auto known = names.find(user);
            return known == names.end() || known->second.empty() ? os::user_name(user)
                                                                 : known->second;
          },
      .simulated = simulated_.value_or(false),
  };
}

}  // namespace berth::cli
