// SPDX-License-Identifier: Apache-2.0
#include "library/handles.h"

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include "library/error.h"

namespace berth::library {
namespace {

// A handle: kind 4 bits, forks that led to this process 12, number 48.
constexpr unsigned kKindShift = 60;
constexpr unsigned kForksShift = 48;
constexpr std::uint64_t kForksMask = 0xfff;

alignas(Handles) std::byte storage[sizeof(Handles)];
std::atomic<std::uint64_t> forks{0};

Handles* handles_in_storage() {
  return reinterpret_cast<Handles*>(storage);
}

// The parent's may be locked by a thread that is not here. It is left as it is.
void after_fork_in_child() {
  forks.fetch_add(1);
  new (storage) Handles;
}

std::uint64_t forks_of_handle(std::uint64_t handle) {
  return handle >> kForksShift & kForksMask;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kSession:
      return "session";
    case Kind::kVramManager:
      return "VRAM manager";
    case Kind::kBatch:
      return "batch";
  }
  return "";
}

std::string why_stale(Kind kind, std::uint64_t handle) {
  const std::string no = std::string("this is no ") + name_of(kind) + ": ";
  if (handle == 0) return no + "the handle is 0";
  const std::uint64_t kind_seen = handle >> kKindShift;
  const bool other = kind_seen != static_cast<std::uint64_t>(kind);
  const char* seen = name_of(static_cast<Kind>(kind_seen));
  if (other && *seen != '\0') return no + "it is the handle of a " + seen;
  if (!other && forks_of_handle(handle) != (forks.load() & kForksMask)) {
    return no + "the handle is from before a fork; a child attaches for itself";
  }
  return no + (other ? "the handle is none of libberth's" : "it was closed");
}

}  // namespace

Handles& Handles::of_process() {
  static const bool kMade = [] {
    new (storage) Handles;
    ::pthread_atfork(nullptr, nullptr, &after_fork_in_child);
    return true;
  }();
  (void)kMade;
  return *handles_in_storage();
}

Result<std::uint64_t> Handles::add(Kind kind, std::shared_ptr<void> object) {  // See find().
  const std::lock_guard lock(mutex_);
  if (open_.size() >= kMax) {
    return Error{Errc::kFull, std::to_string(kMax) +
                                  " handles are open: close those that are not needed any more"};
  }
  const std::uint64_t handle = static_cast<std::uint64_t>(kind) << kKindShift |
                               (forks.load() & kForksMask) << kForksShift | ++last_;
  open_.emplace(handle, std::move(object));
  return handle;
}

std::shared_ptr<void> Handles::find(Kind kind, std::uint64_t handle) {  // As the header says.
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(handle);
    const bool right = handle >> kKindShift == static_cast<std::uint64_t>(kind);
    if (right && found != open_.end()) return found->second;
  }
  fail(BERTH_STALE, why_stale(kind, handle));
  return nullptr;
}

berth_status Handles::close(Kind kind, std::uint64_t handle) {
  std::shared_ptr<void> closed = find(kind, handle);  // Dies without the lock.
  if (closed == nullptr) return BERTH_STALE;
  const std::lock_guard lock(mutex_);
  open_.erase(handle);
  return BERTH_OK;
}

}  // namespace berth::library
