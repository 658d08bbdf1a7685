// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/gate.h"

#include <utility>

namespace berth::simgpu {

std::unique_lock<std::mutex> Gate::enter() {
  std::unique_lock lock(mutex_);
  opened_.wait(lock, [this] { return !closed_; });
  return lock;
}

Gate::Stay::Stay(Gate& gate) : gate_(&gate) {
  ++gate.staying_;
}
Gate::Stay::Stay(Stay&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
Gate::Stay& Gate::Stay::operator=(Stay&& other) noexcept {
  std::swap(gate_, other.gate_);
  return *this;
}
Gate::Stay::~Stay() {
  if (gate_ == nullptr) return;
  const std::lock_guard lock(gate_->mutex_);
  if (--gate_->staying_ == 0) gate_->left_.notify_all();
}

bool Gate::close(std::optional<std::chrono::milliseconds> timeout) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  const auto empty = [this] { return staying_ == 0; };
  if (!timeout) {
    left_.wait(lock, empty);
    return true;
  }
  if (left_.wait_for(lock, *timeout, empty)) return true;
  closed_ = false;
  opened_.notify_all();
  return false;
}

void Gate::open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
  opened_.notify_all();
}

}  // namespace berth::simgpu
