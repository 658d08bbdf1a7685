// SPDX-License-Identifier: Apache-2.0
// The two files of a lease, and processes that use them. For tests only.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "guard/layout.h"
#include "guard/ledger.h"
#include "guard/linux.h"

namespace berth::guard {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kNamespace = 7;

// The two files of a lease, in memory that children of fork share.
class Files {
 public:
  explicit Files(std::uint64_t budget, std::uint32_t devices = 1) : use_size_(use_bytes(devices)) {
    limit = static_cast<LimitFile*>(map(sizeof(LimitFile)));
    use = static_cast<UseFile*>(map(use_size_));
    limit->magic = kLimitMagic;
    limit->layout = use->layout = kLayout;
    limit->size = sizeof(LimitFile);
    limit->device_size = sizeof(LimitDevice);
    limit->device_count = use->device_count = devices;
    use->magic = kUseMagic;
    use->slot_count = kSlotsMax;
    for (std::uint32_t i = 0; i < devices; ++i) limit->devices[i].budget = budget;
  }
  ~Files() {
    ::munmap(limit, sizeof(LimitFile));
    ::munmap(use, use_size_);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  static std::size_t use_bytes(std::uint32_t devices) { return use_file_size(devices); }
  static void* map(std::size_t bytes) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }

  Ledger::Attached attach(Ledger& ledger, const Census& census) const {
    return ledger.attach(limit, sizeof(LimitFile), use, use_size_, census);
  }
  std::uint64_t charged() const {
    std::uint64_t sum = 0;
    for (const SlotUse& slot : use->slots[0]) sum += slot.used.load();
    return sum;
  }

  LimitFile* limit;
  UseFile* use;

 private:
  std::size_t use_size_;
};

inline Life everybody_lives(Identity) {
  return Life::kLives;
}
inline Life nobody_lives(Identity) {
  return Life::kGone;
}
inline Life nobody_is_seen(Identity) {
  return Life::kUnseen;
}
inline bool there_is(Identity) {
  return true;
}
inline bool there_is_none(Identity) {
  return false;
}
inline Census process(std::uint64_t pid, Life (*life)(Identity) = &everybody_lives) {
  return {.self = make_identity(pid, 1),
          .pid_namespace = kNamespace,
          .life_of = life,
          .has_pid = &there_is_none};
}
inline Census real_process() {
  return {.self = own_identity(),
          .pid_namespace = kNamespace,
          .life_of = &life_of,
          .has_pid = &has_pid};
}

}  // namespace berth::guard
