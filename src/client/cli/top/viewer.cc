// SPDX-License-Identifier: Apache-2.0
#include "cli/top/viewer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <utility>

#include "cli/past.h"
#include "cli/terminal.h"
#include "cli/top/background.h"
#include "cli/top/kin.h"
#include "cli/top/tree.h"
#include "os/clock.h"
#include "wire/answers.h"
#include "wire/error.h"
#include "wire/history.h"
#include "wire/live.h"

namespace berth::cli::top {
namespace {

constexpr Duration kSnapshotWithin = seconds(10);
constexpr std::int64_t kTryAgainMs = 2'000;
constexpr std::int64_t kReasonsForMs = 10'000;   // They are asked anew.
constexpr std::int64_t kProcessesForMs = 5'000;  // Likewise, while they are shown.
constexpr std::int64_t kSilentMs = 40'000;       // It says something each ten seconds.
constexpr int kTickMs = 1'000;                   // Ages go on.
constexpr int kKeySettlesMs = 50;
constexpr std::int64_t kBackgroundWithinMs = 100;  // Later it is heard, and not waited for.
constexpr std::int64_t kBackgroundMostMs = 5'000;
constexpr std::size_t kOutstandingMax = 8;
constexpr std::size_t kLinesMax = 500;  // Of a single frame.
constexpr std::array kSignals = {SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT};

UnixMs wall_now() {
  return os::PosixClock().wall();
}

// In the time zone of the user.
std::string clock_text(UnixMs when) {
  const std::time_t time = when.value / 1'000;
  std::tm local{};
  std::array<char, 16> text{};
  if (::localtime_r(&time, &local) == nullptr) return "";
  (void)std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

}  // namespace

Look Viewer::look() const {
  Look look{.context = session_.context(), .clock = clock_text};
  if (settings_.ascii) look.context.charset.unicode = false;
  // Ages are those of the daemon's last message: the view stands still without it.
  look.context.now = state_.shown().time;
  look.context.simulated = state_.shown().simulated;
  return look;
}

int Viewer::once() {
  if (!begin()) return session_.status();
  const auto arrival = session_.client().connection().wait(kSnapshotWithin);
  const auto* event = arrival.ok() ? std::get_if<wire::SseEvent>(&*arrival) : nullptr;
  if (event == nullptr || !take(*event)) {
    session_.fail(ExitCode::kUnavailable, "the daemon does not tell how things stand");
    return session_.status();
  }
  take_past();
  for (const LeaseView* lease : state_.queue()) {
    if (asked_.size() == kReasonsShown) break;
    asked_.push_back(lease->id);
    Result<client::Connection> connection = session_.client().another();
    if (!connection.ok()) break;
    const AskWhy why{lease->id};
    take_answer(why, connection->ask({.route = wire::Route::kWhy, .lease = to_text(lease->id)}));
  }
  Look once = look();
  once.keys = false;
  const std::string text =
      draw(state_, settings_.width.value_or(80), kLinesMax, once).canvas.text();
  print(text.substr(0, text.find_last_not_of('\n') + 1) + "\n");
  return session_.status();
}

int Viewer::run() {
  Result<os::SignalDescriptor> signals = os::SignalDescriptor::open(kSignals);
  if (!signals.ok()) {
    session_.fail(ExitCode::kFailed, signals.error().message);
    return session_.status();
  }
  if (!begin()) return session_.status();
  if (!screen_.take()) {
    session_.fail(ExitCode::kUsage, "this is no terminal: berth top --once writes one frame");
    return session_.status();
  }
  heard_at_ = wall_now();
  ask_background();
  take_past();
  show();
  while (!quits_) {
    wait(*signals);
    if (!take_signals(*signals) || !take_keys()) break;
    if (state_.link() == Link::kLost) {
      reconnect();
    } else if (!take_stream()) {
      lose();
    }
    take_answers();
    ask_reasons();
    ask_processes();
    show();
  }
  screen_.give_back();
  return session_.status();
}

// ---- The daemon.

bool Viewer::begin() {
  const Status sent = session_.client().connection().send({.route = wire::Route::kLive});
  if (!sent.ok()) session_.fail(exit_code(sent.error().code), sent.error().message);
  return sent.ok();
}

// False: the daemon was lost.
bool Viewer::take_stream() {
  while (true) {
    auto arrival = session_.client().connection().receive();
    if (!arrival.ok()) return false;
    const std::optional<client::Arrival>& next = *arrival;
    if (!next) return wall_now().value - heard_at_.value < kSilentMs;
    heard_at_ = wall_now();
    const auto* event = std::get_if<wire::SseEvent>(&*next);
    if (event == nullptr || !take(*event)) return false;
  }
}

// False: it is not understood; a snapshot anew would be.
bool Viewer::take(const wire::SseEvent& event) {
  if (event.event == "snapshot") {
    Result<wire::NamedSnapshot> told = wire::decode_live_snapshot(event.data);
    if (!told.ok()) return false;
    session_.learn(told->names);
    state_.take(told->snapshot);
  } else if (event.event == "change") {
    Result<wire::NamedChange> told = wire::decode_live_change(event.data);
    if (!told.ok()) return false;
    session_.learn(told->names);
    state_.take(told->change);
  }
  return true;
}

// What the daemon remembers. Without it courses and timeline begin now.
void Viewer::take_past() {
  Result<client::Connection> another = session_.client().another();
  if (!another.ok()) return;
  const auto answer = another->get(target_of({.since = "1h", .step = kCourseStep, .of = "device"}));
  if (const auto past = client::told(answer, wire::decode_past)) state_.take(past->past);
  const auto ended = another->get(target_of({.since = "90m", .sessions = true}));
  if (const auto past = client::told(ended, wire::decode_sessions)) {
    session_.learn(past->facts.names);
    state_.take(past->sessions);
  }
}

void Viewer::ask_reasons() {
  std::vector<LeaseId> first;
  for (const LeaseView* lease : state_.queue()) {
    if (first.size() < kReasonsShown) first.push_back(lease->id);
  }
  const UnixMs now = wall_now();
  const bool is_new = first != asked_ || now.value - asked_at_.value > kReasonsForMs;
  if (!is_new || state_.link() != Link::kLive) return;
  asked_ = first;
  asked_at_ = now;
  for (const LeaseId id : first) ask(AskWhy{id});
}

// Nobody pays for them but who looks at them.
void Viewer::ask_processes() {
  const UnixMs now = wall_now();
  const bool is_due =
      !processes_asked_at_ || now.value - processes_asked_at_->value > kProcessesForMs;
  if (!state_.has_tree()) processes_asked_at_.reset();
  if (!state_.has_tree() || !is_due || state_.is_stopped() || state_.link() != Link::kLive) return;
  processes_asked_at_ = now;
  ask(AskProcesses{});
}

Status Viewer::begin(client::Connection& connection, const Asked& what) const {
  if (const auto* send = std::get_if<Send>(&what)) {
    return connection.begin(
        {.route = send->route, .lease = to_text(send->lease), .body = send->body});
  }
  if (const auto* why = std::get_if<AskWhy>(&what)) {
    return connection.begin({.route = wire::Route::kWhy, .lease = to_text(why->lease)});
  }
  return connection.begin(target_of({.since = "15s", .step = seconds(5), .of = "process"}));
}

void Viewer::ask(Asked what) {
  const auto* send = std::get_if<Send>(&what);
  if (outstanding_.size() >= kOutstandingMax) {
    if (send != nullptr) state_.answered(*send, "too much is still under way");
    return;
  }
  Result<client::Connection> connection = session_.client().another();
  const Status begun = connection.ok() ? begin(*connection, what) : Status(connection.error());
  if (!begun.ok()) {
    if (send != nullptr) state_.answered(*send, begun.error().message);
    return;
  }
  outstanding_.push_back({*std::move(connection), std::move(what)});
}

void Viewer::take_answers() {
  std::erase_if(outstanding_, [&](Outstanding& one) {
    auto arrival = one.connection.receive();
    if (!arrival.ok()) {
      take_answer(one.what, arrival.error());
      return true;
    }
    const std::optional<client::Arrival>& next = *arrival;
    if (!next) return false;
    const auto* answer = std::get_if<client::Answer>(&*next);
    if (answer != nullptr) take_answer(one.what, *answer);
    return true;
  });
}

void Viewer::take_answer(const Asked& what, const Result<client::Answer>& answer) {
  if (const auto* send = std::get_if<Send>(&what)) {
    const std::string error = !answer.ok()   ? answer.error().message
                              : answer->ok() ? ""
                                             : wire::decode_error(answer->body).message;
    state_.answered(*send, error);
    return;
  }
  if (std::holds_alternative<AskProcesses>(what)) return take_processes(answer);
  if (auto why = client::told(answer, wire::decode_why)) {
    session_.learn(why->names);
    state_.take(std::get<AskWhy>(what).lease, std::move(why->why));
  }
}

// Without a history there are those that leases name.
void Viewer::take_processes(const Result<client::Answer>& answer) {
  if (state_.is_stopped() || !state_.has_tree()) return;
  std::vector<ProcessFacts> processes;
  if (const auto past = client::told(answer, wire::decode_past)) {
    session_.learn(past->facts.names);
    processes = processes_in(past->past);
  }
  complete(processes, state_.shown().leases, state_.shown().viewer.user);
  state_.take(std::move(processes));
}

void Viewer::lose() {
  state_.lost(wall_now());
  try_again_ = {wall_now().value + kTryAgainMs};
}

void Viewer::reconnect() {
  if (wall_now() < try_again_) return;
  try_again_ = {wall_now().value + kTryAgainMs};
  if (!session_.client().reconnect(client::Backlog::kGiveUp).ok()) return;
  if (!session_.client().connection().send({.route = wire::Route::kLive}).ok()) return;
  asked_.clear();
  heard_at_ = wall_now();
  state_.connecting();
}

// ---- The user.

// Before the first frame, so that none has colours that cannot be read.
void Viewer::ask_background() {
  if (!settings_.asks_background) return;
  screen_.ask(kBackgroundQuestion);
  keys_.expect_answer(true);
  const std::int64_t until = wall_now().value + kBackgroundWithinMs;
  answers_until_ = {wall_now().value + kBackgroundMostMs};
  while (screen_.is_asked() && !quits_) {
    const std::int64_t left = until - wall_now().value;
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (left <= 0 || left > kBackgroundWithinMs) break;
    if (::poll(&input, 1, static_cast<int>(left)) <= 0) break;
    if (!take_keys()) quits_ = true;
  }
}

// Nothing counts that comes behind the fence, or much later: it is no answer.
void Viewer::take_background() {
  if (wall_now() > answers_until_) screen_.answered();
  for (const std::string& answer : keys_.take_answers()) {
    if (!screen_.is_asked()) break;
    if (is_fence(answer)) screen_.answered();
    const std::optional<Background> found = background_of(answer);
    if (!found || *found == palette_.background) continue;
    palette_.background = *found;
    shown_ = Canvas(0, 0);
  }
  keys_.expect_answer(screen_.is_asked());
}

void Viewer::perform(const Effects& effects) {
  for (const Effect& effect : effects) {
    if (const auto* send = std::get_if<Send>(&effect)) ask(*send);
    if (const auto* why = std::get_if<AskWhy>(&effect)) ask(*why);
    if (std::holds_alternative<TryNow>(effect)) try_again_ = {};
    if (std::holds_alternative<Quit>(effect)) quits_ = true;
  }
}

// False: nothing is typed any more.
bool Viewer::take_keys() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, 0) <= 0) {
    const std::optional<Key> key = keys_.settle();
    if (key) perform(state_.press(*key, frame_.page));
    take_background();
    return true;
  }
  std::array<char, 1'024> bytes{};
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count <= 0) return false;
  for (const Key& key : keys_.take({bytes.data(), static_cast<std::size_t>(count)})) {
    const auto row = frame_.by_row.find(key.row);
    if (key.kind == Key::Kind::kClick && row != frame_.by_row.end()) state_.choose(row->second);
    perform(state_.press(key, frame_.page));
  }
  take_background();
  return true;
}

// False: the view ends.
bool Viewer::take_signals(os::SignalDescriptor& signals) {
  while (const auto seen = signals.read()) {
    if (seen->signal == SIGINT || seen->signal == SIGTERM || seen->signal == SIGHUP) return false;
    if (seen->signal == SIGTSTP) {
      screen_.give_back();
      ::raise(SIGSTOP);
    }
    if (seen->signal == SIGTSTP || seen->signal == SIGCONT) {
      if (!screen_.take()) return false;
      shown_ = Canvas(0, 0);
    }
  }
  return true;
}

void Viewer::wait(const os::SignalDescriptor& signals) const {
  std::vector<pollfd> all = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                             {.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
  if (state_.link() != Link::kLost) {
    all.push_back({session_.client().connection().descriptor(), POLLIN, 0});
  }
  for (const Outstanding& one : outstanding_) {
    all.push_back({one.connection.descriptor(), POLLIN, 0});
  }
  (void)::poll(all.data(), all.size(), keys_.is_between() ? kKeySettlesMs : kTickMs);
}

void Viewer::show() {
  const auto size = Screen::size();
  if (!size) return;
  frame_ = draw(state_, size->first, size->second, look());
  Screen::write(changes(shown_, frame_.canvas, palette_));
  shown_ = frame_.canvas;
}

}  // namespace berth::cli::top
