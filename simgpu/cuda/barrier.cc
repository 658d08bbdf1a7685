// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/barrier.h"

#include <utility>

namespace berth::simgpu {

std::unique_lock<std::mutex> Barrier::enter() {
  std::unique_lock lock(mutex_);
  opened_.wait(lock, [this] { return !closed_; });
  return lock;
}

Barrier::Residency::Residency(Barrier& barrier) : barrier_(&barrier) {
  ++barrier.staying_;
}
Barrier::Residency::Residency(Residency&& other) noexcept
    : barrier_(std::exchange(other.barrier_, nullptr)) {}
Barrier::Residency& Barrier::Residency::operator=(Residency&& other) noexcept {
  std::swap(barrier_, other.barrier_);
  return *this;
}
Barrier::Residency::~Residency() {
  if (barrier_ == nullptr) return;
  const std::lock_guard lock(barrier_->mutex_);
  if (--barrier_->staying_ == 0) barrier_->left_.notify_all();
}

bool Barrier::close(std::optional<std::chrono::milliseconds> timeout) {
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

void Barrier::open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
  opened_.notify_all();
}

}  // namespace berth::simgpu
