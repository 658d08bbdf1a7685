// SPDX-License-Identifier: Apache-2.0
// Choices of an administrator for all requests.
#pragma once

#include <cstdint>

#include "base/words.h"

namespace berth {

/// In which order requests are granted.
enum class Order : std::uint8_t { kFifo, kPriority, kFair, kValue };
constexpr auto words_of(Order) {
  using enum Order;
  return make_words<Order>(
      {{kFifo, "fifo"}, {kPriority, "priority"}, {kFair, "fair"}, {kValue, "value"}});
}

/// What programs without a lease mean for what is granted.
enum class Unmanaged : std::uint8_t {
  kAccount,  // What they use is held back.
  kWarn,     // The same, and it is told who comes and goes.
  kIgnore,   // What they use is granted all the same, but for the reserve.
};
constexpr auto words_of(Unmanaged) {
  using enum Unmanaged;
  return make_words<Unmanaged>({{kAccount, "account"}, {kWarn, "warn"}, {kIgnore, "ignore"}});
}

/// What is done with a lease that has been idle for long, where the request that is next could have
/// its memory.
enum class IdleAction : std::uint8_t {
  kNone,
  kPause,  // It is suspended until that ends.
  kAsk,    // Its holder is asked.
};
constexpr auto words_of(IdleAction) {
  using enum IdleAction;
  return make_words<IdleAction>({{kNone, "none"}, {kPause, "pause"}, {kAsk, "ask"}});
}

}  // namespace berth
