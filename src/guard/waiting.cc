// SPDX-License-Identifier: Apache-2.0
#include "guard/waiting.h"

#include <utility>

#include "guard/linux.h"
#include "guard/text.h"

// Note [Who is made to wait]
//
// A thread waits only where another one can end the wait: not while it captures a stream, for
// others may free nothing before the capture ends; not in a callback of the driver's, for the
// stream behind it stands still; not for more than the budget has beside this process's own
// context. Nor does it hold a lock of ours, or a part of what it needs. It always has a deadline.
//
// Others of the lease may wait as well, each for what the next one holds. What their threads do is
// not seen, so that this is never certain; but when all processes that hold something wait, and
// nothing has moved for half of the time that the one which began last would wait at most, that
// one is refused. The last that is left waits until its own deadline, for a budget that grows.

namespace berth::guard {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{366} * 24 * 3600 * 1'000'000'000;

bool is_in_a_hurry() {
  return hurry.captures > 0 || hurry.callbacks > 0 || hurry.parts > 0;
}

}  // namespace

// "wait=30000ms", as `berth run` writes it.
std::uint64_t wait_on_full(const char* variable) {
  constexpr const char* kWait = "wait=";
  if (variable == nullptr || !starts_with(variable, kWait)) return 0;
  const char* at = variable + 5;
  std::uint64_t milliseconds = 0;
  for (; *at >= '0' && *at <= '9'; ++at) {
    if (milliseconds > kLongest) return 0;
    milliseconds = milliseconds * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  if (!equal(at, "ms")) return 0;
  return milliseconds < kLongest / 1'000'000 ? milliseconds * 1'000'000 : kLongest;
}

// A look that was under way when the wait began may be older than the death: so the first counts
// for nothing.
bool WaitForDead::goes_on() {
  if (is_in_a_hurry()) return false;
  // One that was cleared since the charge was tried is seen no more: so it is tried once again.
  if (!ledger_.has_dead(device_)) return std::exchange(may_have_missed_one_, false);
  may_have_missed_one_ = true;
  const std::uint64_t now = monotonic_ns();
  const std::uint64_t looks = ledger_.looks();
  if (begun_ == 0) {
    begun_ = now;
    looks_before_ = looks;
  }
  if (looked_ == 0 || looks != looks_) looked_ = now;
  looks_ = looks;
  if (now - looked_ >= patience_.daemon) return ledger_.sweep(Ledger::Sweep::kAll) > 0;
  if (now - begun_ >= patience_.most || looks - looks_before_ > patience_.looks) return false;
  ledger_.wait(ledger_.before_try(), patience_.every);
  return true;
}

Waiting::Waiting(Ledger& ledger, const What& what) : ledger_(ledger), what_(what) {
  if (what.duration == 0 || is_in_a_hurry() || !can_ever_fit()) return;
  shown_ = {.device = what.device, .bytes = what.bytes, .since = monotonic_ns()};
  still_since_ = shown_.since;
  movement_ = ledger_.movement();
  ledger_.begin_wait(shown_);
  before_ = ledger_.before_try();
}

Waiting::~Waiting() {
  if (is_shown()) ledger_.end_wait(shown_);
}

bool Waiting::can_ever_fit() const {
  const std::uint64_t budget = ledger_.budget(what_.device);
  return what_.beside <= budget && what_.bytes <= budget - what_.beside;
}

bool Waiting::is_stuck(std::uint64_t now) {
  const std::uint64_t movement = ledger_.movement();
  if (movement != movement_) {
    movement_ = movement;
    still_since_ = now;
  }
  return now - still_since_ >= what_.stuck_after && ledger_.is_last_of_a_circle();
}

bool Waiting::goes_on() {
  if (!is_shown()) return false;
  const std::uint64_t now = monotonic_ns();
  const std::uint64_t deadline = shown_.since + what_.duration;
  if (now >= deadline || !can_ever_fit() || is_stuck(now)) return false;
  const std::uint64_t left = deadline - now;
  ledger_.wait(before_, left < what_.look_every ? left : what_.look_every);
  before_ = ledger_.before_try();
  return true;
}

}  // namespace berth::guard
