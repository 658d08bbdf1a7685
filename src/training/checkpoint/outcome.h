// SPDX-License-Identifier: Apache-2.0
// From what our own functions return to what the users of include/berth are given. Nothing is
// thrown past this. Pure; any thread.
#pragma once

#include <exception>
#include <utility>

#include "base/result.h"
#include "berth/safetensors.h"

namespace berth::checkpoint {

Failure failure_of(const Error& error);

template <class T>
Outcome<T> outcome_of(Result<T> result) {
  if (!result.ok()) return failure_of(result.error());
  return *std::move(result);
}
inline Outcome<Nothing> outcome_of(const Status& status) {
  if (!status.ok()) return failure_of(status.error());
  return Nothing{};
}

/// What `work` gives, or kExhausted where memory ended, or what it threw: functions of the user's
/// may throw.
template <class T, class Work>
Outcome<T> guarded(Work work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Failure{Trouble::kExhausted, "no memory"};  // Short: it needs none.
  } catch (const std::exception& thrown) {
    return Failure{Trouble::kInvalid, thrown.what()};
  } catch (...) {
    return Failure{Trouble::kInvalid, "thrown"};
  }
}

}  // namespace berth::checkpoint
