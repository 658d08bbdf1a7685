// SPDX-License-Identifier: Apache-2.0
#include "cli/save/saver.h"

#include <sys/wait.h>

#include <csignal>
#include <ctime>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/quantity.h"
#include "os/clock.h"

namespace berth::cli {
namespace {

// It takes a second to see that a file stands still.
constexpr Duration kAfterTheEnd = seconds(2);

std::string how(const ExitStatus& exit) {
  if (exit.signal != 0) return "the command was killed by " + signal_name(exit.signal);
  return "the command ended with " + std::to_string(exit.code);
}

}  // namespace

void Saver::ask(const CheckpointAsk& ask, Instant now) {
  if (ask.number <= number_) return;
  if (process_) give_up(CheckpointOutcome::kTimedOut, "asked anew");  // Nobody waits for it.
  number_ = ask.number;
  report_.reset();
  Result<SaveProcess> process = SaveProcess::start(context_, ask.reason);
  if (!process.ok()) return over({.detail = process.error().message});
  process_ = *std::move(process);
  until_ = now + grace_;
}

void Saver::reaped(pid_t pid, int status) {
  if (process_ && process_->pid() == pid) over(process_->result(status));
}

void Saver::woke(Instant now) {
  if (!process_ || now < until_) return;
  give_up(CheckpointOutcome::kTimedOut, "not within " + to_text(grace_));
}

void Saver::command_ended(const ExitStatus& exit) {
  if (!process_) return;
  // A program that was cut short has perhaps not written all of a file that stands still now.
  const bool by_signal = std::holds_alternative<SignalWay>(context_.way);
  const bool may_have = !by_signal || exit == ExitStatus{};
  if (may_have) {
    if (const std::optional<int> status = wait_for_process(kAfterTheEnd)) {
      return over(checked(process_).result(*status));
    }
  }
  const pid_t pid = checked(process_).pid();
  give_up(CheckpointOutcome::kFailed, how(exit) + " before it had saved");
  ::waitpid(pid, nullptr, 0);  // It is dying, and shall not be counted among what is left behind.
}

void Saver::heard(std::uint64_t number) {
  if (report_ && report_->number <= number) report_.reset();
}

void Saver::over(Performed performed) {
  process_.reset();
  report_ = {
      .number = number_, .outcome = performed.outcome, .detail = std::move(performed.detail)};
}

// The caller that reaps it tells reaped(), which knows it no more.
void Saver::give_up(CheckpointOutcome outcome, std::string detail) {
  checked(process_).kill();
  over({.outcome = outcome, .detail = std::move(detail)});
}

// By signal: SIGCHLD is blocked, and nobody else takes it now.
std::optional<int> Saver::wait_for_process(Duration within) const {
  if (!process_) return std::nullopt;
  const pid_t pid = process_->pid();
  const os::PosixClock clock;
  const Instant until = clock.now() + within;
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  while (true) {
    int status = 0;
    const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
    if (reaped != 0) return reaped > 0 ? std::optional(status) : std::nullopt;
    const Duration left = until - clock.now();
    if (left.ns <= 0) return std::nullopt;
    const timespec time{.tv_sec = left.ns / 1'000'000'000, .tv_nsec = left.ns % 1'000'000'000};
    ::sigtimedwait(&children, nullptr, &time);
  }
}

}  // namespace berth::cli
