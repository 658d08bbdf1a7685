// SPDX-License-Identifier: Apache-2.0
#include "deliver/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/check.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::deliver {
namespace {

using Outcome = wire::DeliveryOutcome::Kind;

constexpr Duration kWithin = seconds(10);
constexpr std::size_t kErrorsKept = 4'096;  // Bytes of standard error, the last ones.

/// What the command has on its three standard descriptors.
struct Streams {
  os::UniqueFd in;      // The body, whole, however slowly it is read.
  os::UniqueFd out;     // Nowhere.
  os::UniqueFd errors;  // The end that it writes to.
  os::UniqueFd ours;    // The end that we read from.
};

Result<Streams> make_streams(const std::string& body) {
  Streams streams;
  streams.in = os::UniqueFd(::memfd_create("body", MFD_CLOEXEC));
  if (!streams.in) return os::system_error("cannot make a file in memory", errno);
  const ssize_t written = ::write(streams.in.get(), body.data(), body.size());
  if (written != static_cast<ssize_t>(body.size()) || ::lseek(streams.in.get(), 0, SEEK_SET) != 0) {
    return os::system_error("cannot write to a file in memory", errno);
  }
  streams.out = os::UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!streams.out) return os::system_error("cannot open /dev/null", errno);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os::system_error("cannot make a pipe", errno);
  streams.ours = os::UniqueFd(ends[0]);
  streams.errors = os::UniqueFd(ends[1]);
  (void)::fcntl(streams.ours.get(), F_SETFL, O_NONBLOCK);
  return streams;
}

/// Reads what is there, and keeps the last of it. False: nothing more will come.
bool read_errors(const os::UniqueFd& from, std::string& kept) {
  std::array<char, kErrorsKept> piece{};
  for (;;) {
    const ssize_t count = ::read(from.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 && errno == EAGAIN;
    kept.append(piece.data(), static_cast<std::size_t>(count));
    if (kept.size() > kErrorsKept) kept.erase(0, kept.size() - kErrorsKept);
  }
}

/// Until it has ended or the time is up; false: that.
bool await_end(const os::UniqueFd& pidfd, const Streams& streams, std::string& errors) {
  const os::PosixClock clock;
  const Instant end = clock.now() + kWithin;
  std::array<pollfd, 2> polled = {pollfd{.fd = pidfd.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = streams.ours.get(), .events = POLLIN}};
  for (;;) {
    const std::int64_t left_ms = (end - clock.now()).ns / milliseconds(1).ns;
    if (left_ms <= 0) return false;
    (void)::poll(polled.data(), polled.size(), static_cast<int>(left_ms));
    if (polled[1].revents != 0 && !read_errors(streams.ours, errors)) polled[1].fd = -1;
    if (polled[0].revents != 0) return true;
  }
}

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));  // After npos: the whole.
}

wire::DeliveryOutcome outcome_of(const std::string& name, int status, const std::string& errors) {
  wire::DeliveryOutcome outcome;
  if (WIFEXITED(status)) {
    outcome.status = static_cast<std::uint32_t>(WEXITSTATUS(status));
    outcome.reason = name + " ended with " + std::to_string(*outcome.status);
    if (*outcome.status == 0) outcome.kind = Outcome::kDelivered;
  } else {
    outcome.reason = name + " was killed by signal " + std::to_string(WTERMSIG(status));
  }
  const std::string line = last_line(errors);
  if (outcome.kind != Outcome::kDelivered && !line.empty()) outcome.reason += ": " + line;
  return outcome;
}

}  // namespace

wire::DeliveryOutcome run_command(const wire::Delivery& delivery,
                                  const wire::AlertCommand& command) {
  const std::string& name = command.words.front();
  auto streams = make_streams(delivery.body);
  if (!streams.ok()) return {.reason = streams.error().message};
  const auto child =
      os::spawn({.words = command.words,
                 .variables = {{"BERTH_DELIVERY", delivery.id}, {"BERTH_EVENT", delivery.event}},
                 .standard = {streams->in.get(), streams->out.get(), streams->errors.get()},
                 .apart = os::Apart::kSession});
  if (!child.ok()) return {.kind = Outcome::kRefused, .reason = child.error().message};
  streams->errors = os::UniqueFd();
  const os::UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, *child, 0)));
  CHECK(static_cast<bool>(pidfd));
  std::string errors;
  const bool in_time = await_end(pidfd, *streams, errors);
  if (!in_time) (void)::kill(-*child, SIGKILL);
  (void)read_errors(streams->ours, errors);
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0) CHECK(errno == EINTR);
  if (!in_time) return {.reason = name + " did not end within 10 s, and was killed"};
  return outcome_of(name, status, errors);
}

}  // namespace berth::deliver
