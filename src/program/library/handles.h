// SPDX-License-Identifier: Apache-2.0
// The numbers that programs have for sessions and managers, and what stands behind them. A number
// is never used again, and none of the parent's means anything in a forked child, where what it
// stood for may be half changed by a thread that the child does not have. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/result.h"
#include "berth/berth.h"
#include "library/error.h"

namespace berth::library {

class Batch;
class Session;
class VramManager;

enum class Kind : std::uint8_t { kSession = 1, kVramManager = 2, kBatch = 3 };
template <class T>
inline constexpr Kind kKindOf = Kind::kSession;
template <>
inline constexpr Kind kKindOf<VramManager> = Kind::kVramManager;
template <>
inline constexpr Kind kKindOf<Batch> = Kind::kBatch;

class Handles {
 public:
  static constexpr std::size_t kMax = 4'096;  // Open at a time.

  /// Those of this process. It is made at the first call, and never taken down: threads may still
  /// call when the program ends.
  static Handles& of_process();

  /// kFull where too many are open.
  template <class T>
  Result<std::uint64_t> add(std::shared_ptr<T> object) {  // See find().
    return add(kKindOf<T>, std::move(object));
  }
  /// Shared: another thread may close the handle meanwhile. Null, with berth_last_error() set, if
  /// it stands for nothing.
  template <class T>
  std::shared_ptr<T> find(std::uint64_t handle) {  // Shared, as said above.
    return std::static_pointer_cast<T>(find(kKindOf<T>, handle));
  }
  template <class T>
  berth_status close(std::uint64_t handle) {
    return close(kKindOf<T>, handle);
  }

 private:
  Result<std::uint64_t> add(Kind kind, std::shared_ptr<void> object);  // Of any kind.
  std::shared_ptr<void> find(Kind kind, std::uint64_t handle);         // Likewise.
  berth_status close(Kind kind, std::uint64_t handle);

  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::shared_ptr<void>> open_;  // By number; shared as find() says.
};

/// Runs the body of a C function about what the handle stands for.
template <class T, class Body>
berth_status with(std::uint64_t handle, Body body) {
  return guarded([&]() -> Ending {
    const auto found = Handles::of_process().find<T>(handle);
    return found == nullptr ? Ending(BERTH_STALE) : Ending(body(*found));
  });
}

/// Gives the program a handle of it.
template <class T>
Ending hand_out(std::shared_ptr<T> object, std::uint64_t* handle) {  // See find().
  TRY(added, Handles::of_process().add(std::move(object)));
  *handle = added;
  return BERTH_OK;
}

/// Takes it back.
template <class T>
berth_status close_handle(std::uint64_t handle) {
  return guarded([=] { return Handles::of_process().close<T>(handle); });
}

}  // namespace berth::library
