// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/staging_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/quantity.h"
#include "os/errors.h"

namespace berth::checkpoint {
namespace {

// A cache line, so that no tensor shares one with another's end.
constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Status StagingMemory::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return Unit{};
  release();
  if (staging_.allocate != nullptr) {
    memory_ = staging_.allocate(bytes, staging_.user);
    if (memory_ == nullptr) {
      return Error{Errc::kExhausted, "no memory for a copy of " + to_text(Bytes{bytes}) +
                                         ": the given allocator has none left"};
    }
  } else {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
      return os::system_error("no memory for a copy of " + to_text(Bytes{bytes}), errno);
    }
    memory_ = memory;
  }
  bytes_ = bytes;
  return Unit{};
}

Status StagingMemory::take(FilePlan& plan) {
  std::size_t needed = 0;
  for (const auto piece : plan.pieces) needed += aligned(piece.size());
  TRY_STATUS(reserve(needed));
  auto* to = static_cast<std::byte*>(memory_);
  for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
    const std::span<const std::byte> piece = plan.pieces[i];
    if (piece.empty()) continue;
    if (staging_.copy == nullptr) {
      std::memcpy(to, piece.data(), piece.size());
    } else if (!staging_.copy(to, piece.data(), piece.size(), staging_.user)) {
      return Error{Errc::kIo, "tensor '" + plan.header.tensors[i].name +
                                  "' could not be copied: the given copy function said so"};
    }
    plan.pieces[i] = {to, piece.size()};
    to += aligned(piece.size());
  }
  return Unit{};
}

void StagingMemory::release() {
  void* const memory = std::exchange(memory_, nullptr);
  const std::size_t bytes = std::exchange(bytes_, 0);
  if (memory == nullptr) return;
  if (staging_.allocate == nullptr) {
    ::munmap(memory, bytes);
  } else if (staging_.release != nullptr) {
    staging_.release(memory, bytes, staging_.user);
  }
}

}  // namespace berth::checkpoint
