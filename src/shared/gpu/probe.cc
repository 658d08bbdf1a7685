// SPDX-License-Identifier: Apache-2.0
#include "gpu/probe.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/quantity.h"

namespace berth::gpu {
namespace {

constexpr std::size_t kAbandonedMax = 4;
constexpr std::size_t kReadBytes = 64U << 10U;

}  // namespace

Probe::Probe(Options options) : options_(std::move(options)) {}

Probe::~Probe() {
  if (child_ != 0) abandon();
  bury();
}

void Probe::ask(Instant now) {
  CHECK(!busy());
  bury();
  if (now < retry_at_) {
    state_ = State::kWaiting;
    wake_at_ = retry_at_;
    return;
  }
  begin(now);
}

void Probe::begin(Instant now) {
  asked_at_ = now;
  if (child_ == 0) {
    if (const Status started = start(); !started.ok()) {
      due_ = fail(now, started.error().message);
      state_ = State::kFailed;
      wake_at_ = now;
      return;
    }
  }
  const std::string question = encode(
      Question{.number = ++number_, .known = answered_before_ ? std::vector<Identity>{} : known_});
  // It fails only if the child is dead, and then the descriptor becomes readable.
  (void)::send(socket_.get(), question.data(), question.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  state_ = State::kAsked;
  wake_at_ = now + (answered_before_ ? options_.answer_within : options_.first_answer_within);
}

Status Probe::start() {
  if (abandoned_.size() >= kAbandonedMax) {
    return Error{Errc::kUnavailable, std::to_string(abandoned_.size()) +
                                         " processes hang in calls of the GPU driver and cannot "
                                         "be ended: the machine needs a reboot"};
  }
  TRY(child, os::start_child(options_.child));
  child_ = child.pid;
  socket_ = std::move(child.socket);
  received_.clear();
  answered_before_ = false;
  return Unit{};
}

std::optional<Probe::Outcome> Probe::on_readable(Instant now) {
  bury();
  if (!socket_) return std::nullopt;
  std::array<char, kReadBytes> chunk;
  for (;;) {
    const ssize_t length = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    if (length <= 0) {
      if (state_ == State::kAsked) return fail(now, "berth-probe ended before it answered");
      abandon();  // Nothing was asked: the next question starts another one.
      ++given_up_;
      return std::nullopt;
    }
    received_.append(chunk.data(), static_cast<std::size_t>(length));
    if (state_ != State::kAsked) {
      abandon();  // It speaks without being asked.
      ++given_up_;
      return std::nullopt;
    }
    if (const std::size_t end = received_.find('\n'); end != std::string::npos)
      return finish(now, std::string_view(received_).substr(0, end));
    if (received_.size() > kAnswerMax) return fail(now, "berth-probe says too much");
  }
}

std::optional<Probe::Outcome> Probe::finish(Instant now, std::string_view line) {
  Result<Answer> answer = decode_answer(line);
  if (!answer.ok()) return fail(now, answer.error().message);
  if (answer->number != number_) return fail(now, "berth-probe answers what was not asked");
  received_.clear();
  answered_before_ = true;
  retry_after_ = {};
  state_ = State::kIdle;
  wake_at_ = Instant::never();
  Outcome outcome{.sample = std::move(answer->sample)};
  outcome.sample->asked_at = asked_at_;
  outcome.sample->answered_at = now;
  complete(*outcome.sample);
  return outcome;
}

// A device that has fallen off the bus does not say who it is, at least not to a new child. Who has
// not said it before is left out.
void Probe::complete(Sample& sample) {
  const auto is_there = [&](const DeviceId& id) {
    return std::ranges::find(sample.devices, id, &DeviceSample::id) != sample.devices.end();
  };
  std::string silent;
  for (DeviceSample& device : sample.devices) {
    const auto known = std::ranges::find(known_, device.index, &Identity::index);
    if (device.id != DeviceId{}) {
      Identity identity{
          .id = device.id, .index = device.index, .model = device.model, .pci_bus = device.pci_bus};
      known == known_.end() ? known_.push_back(std::move(identity)) : void(*known = identity);
    } else if (known != known_.end() && !is_there(known->id)) {
      device.id = known->id;
      device.model = known->model;
      device.pci_bus = known->pci_bus;
    } else {
      silent = "GPU " + std::to_string(device.index) + ": " + device.trouble;
    }
  }
  std::erase_if(sample.devices, [](const DeviceSample& device) { return device.id == DeviceId{}; });
  if (sample.devices.empty() && sample.trouble.empty()) sample.trouble = silent;
}

std::optional<Probe::Outcome> Probe::on_time(Instant now) {
  bury();
  if (now < wake_at_) return std::nullopt;
  if (state_ == State::kWaiting) begin(now);
  if (state_ == State::kAsked && now >= wake_at_) {
    return fail(now, "the GPU driver has not answered for " + to_text(now - asked_at_));
  }
  if (state_ != State::kFailed) return std::nullopt;
  state_ = State::kIdle;
  wake_at_ = Instant::never();
  return std::exchange(due_, {});
}

Probe::Outcome Probe::fail(Instant now, std::string why) {
  if (child_ != 0) {
    abandon();
    ++given_up_;
  }
  retry_after_ = retry_after_ == Duration{}
                     ? options_.retry_after_min
                     : std::min(retry_after_ + retry_after_, options_.retry_after_max);
  retry_at_ = now + retry_after_;
  state_ = State::kIdle;
  wake_at_ = Instant::never();
  return {.sample = std::nullopt, .trouble = std::move(why)};
}

// SIGKILL does not reach a process that hangs in the driver before it comes out of it, and nobody
// waits for that: it is buried when it is dead.
void Probe::abandon() {
  (void)::kill(child_, SIGKILL);
  abandoned_.push_back(std::exchange(child_, 0));
  socket_ = {};
}

void Probe::bury() {
  const auto is_dead = [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; };
  std::erase_if(abandoned_, is_dead);
  std::erase_if(resting_, is_dead);
}

void Probe::rest() {
  CHECK(!busy());
  if (child_ == 0) return;
  resting_.push_back(std::exchange(child_, 0));
  socket_ = {};  // It ends when its input does.
  bury();
}

}  // namespace berth::gpu
