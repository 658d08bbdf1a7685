// SPDX-License-Identifier: Apache-2.0
#include "trainer/memory_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "os/host_memory.h"
#include "trainer/memory.h"
#include "trainer/moment.h"

namespace berth::trainer {
namespace {

constexpr Duration kLookUpEvery = milliseconds(1000);

vram::Now now() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {.at = {moment().ns},
          .wall = {std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()}};
}

// What a person is told of; the rest is in the metrics.
bool is_news(const vram::Event& event) {
  using Kind = vram::Event::Kind;
  return event.kind != Kind::kCleanup && event.kind != Kind::kPhase;
}

}  // namespace

MemoryWatch::MemoryWatch(train::Device device, std::optional<Bytes> budget, Hands hands)
    : device_(device), budget_(budget), hands_(std::move(hands)), manager_(vram::Settings{}) {
  reset_tensor_memory_peak(device_);
}

Bytes MemoryWatch::peak() const {
  return std::max(peak_, tensor_memory(device_).peak);
}

void MemoryWatch::step() {
  manager_.step(now(), sample());
  while (const auto action = manager_.next(now())) perform(*action);
  // What was there before a measure is no part of the next step.
  peak_ = peak();
  reset_tensor_memory_peak(device_);
  while (const auto event = manager_.take_event()) {
    if (is_news(*event)) hands_.say("memory: " + event->text);
  }
}

// Memory ends in the midst of a step, not between two: its peak is what counts.
vram::Sample MemoryWatch::sample() {
  const TensorMemory memory = tensor_memory(device_);
  vram::Sample sample{
      .used = memory.peak, .whole = whole(), .own = std::nullopt, .host = std::nullopt};
  (device_ == train::Device::kCpu ? sample.host : sample.own) = memory.now;
  return sample;
}

std::optional<Bytes> MemoryWatch::whole() {
  if (budget_ || device_ != train::Device::kCpu) return budget_;
  if (!whole_ || looked_up_ + kLookUpEvery < moment()) {
    looked_up_ = moment();
    const auto left = os::host_memory_left(::getpid());
    whole_ = left ? std::optional(*left + tensor_memory(device_).now) : std::nullopt;
  }
  return whole_;
}

void MemoryWatch::perform(vram::Action action) {
  const Bytes before = tensor_memory(device_).now;
  vram::Outcome outcome = vram::Outcome::kDone;
  if (action == vram::Action::kCleanup) {
    release_unused(device_);
  } else {
    outcome = hands_.act(action);
  }
  // Whether it has helped the next step's peak will show.
  const Bytes freed = saturating_sub(before, tensor_memory(device_).now);
  manager_.done(now(), action, outcome, vram::Sample{}, freed);
}

}  // namespace berth::trainer
