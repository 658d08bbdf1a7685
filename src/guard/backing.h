// SPDX-License-Identifier: Apache-2.0
// Check that a file that is mapped is as long as it was. Any thread may ask.
//
// Note [A file that shrinks]
//
// A program that may write to a file may also cut it off, and a program that touches what is mapped
// behind the end of a file is ended by SIGBUS. No handler of ours has a place in another one's
// program, so before it is touched the kernel is asked whether its last page is there: then all
// are. That costs 0.1 us and more, as much as all else that is done for an allocation; so the
// answer is good for 10 to 25 us. Where calls of the driver take longer, each has a question of its
// own; where they come faster, the questions take a hundredth of the time. What is cut off between
// the question and the step ends the program still; only its own user can do that.
#pragma once

#include <atomic>
#include <cstdint>

#include "guard/linux.h"

namespace berth::guard {

class Backing {
 public:
  /// For so many ticks() an answer is good.
  static constexpr std::uint64_t kGood = 50'000;

  Backing() = default;
  explicit Backing(const void* last_word) : last_word_(last_word) {}

  bool is_there() const {
    return ticks() - asked_at().load(std::memory_order_relaxed) < kGood || ask();
  }

 private:
  std::atomic_ref<std::uint64_t> asked_at() const { return std::atomic_ref(asked_at_); }
  bool ask() const {
    if (!is_backed(last_word_)) return false;
    asked_at().store(ticks(), std::memory_order_relaxed);
    return true;
  }

  const void* last_word_ = nullptr;
  mutable std::uint64_t asked_at_ = 0;  // In ticks. Plain, since an atomic could not be copied.
};

}  // namespace berth::guard
