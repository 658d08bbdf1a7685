// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of the checkpoint calls: a process with something in its memory, and processes
// that make calls on it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <functional>
#include <string>

#include "simgpu/cuda/cuda_testing.h"

namespace berth::simgpu {

/// Zeroed memory that all children made after it share with the test.
template <class T>
T& shared_with_children() {
  void* at = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<T*>(at);
}

/// Makes calls from a process of its own that has a driver, and ends without undoing anything.
inline void as_caller(const std::function<void()>& calls) {
  EXPECT_EQ(0, in_child([&] {
              REQUIRE_OK(cuInit(0));
              calls();
            }));
}

inline bool has_state(int pid, CUprocessState wanted) {
  CUprocessState state{};
  return cuCheckpointProcessGetState(pid, &state) == CUDA_SUCCESS && state == wanted;
}

inline CUresult lock_within(int pid, unsigned int milliseconds) {
  CUcheckpointLockArgs arguments{};
  arguments.timeoutMs = milliseconds;
  return cuCheckpointProcessLock(pid, &arguments);
}

/// From running to checkpointed.
inline void suspend(int pid) {
  REQUIRE_OK(lock_within(pid, 60'000));
  REQUIRE_OK(cuCheckpointProcessCheckpoint(pid, nullptr));
}
/// And back.
inline void resume(int pid) {
  REQUIRE_OK(cuCheckpointProcessRestore(pid, nullptr));
  REQUIRE_OK(cuCheckpointProcessUnlock(pid, nullptr));
}

/// Text at the beginning and the end of an allocation.
class Pattern {
 public:
  explicit Pattern(std::size_t bytes) : bytes_(bytes) {
    REQUIRE_OK(cuMemAlloc_v2(&at_, bytes));
    for (const CUdeviceptr place : {at_, at_ + bytes_ - kText.size()}) {
      REQUIRE_OK(cuMemcpyHtoD_v2(place, kText.data(), kText.size()));
    }
  }
  bool is_there() const {
    std::string back(kText.size(), ' ');
    bool same = true;
    for (const CUdeviceptr place : {at_, at_ + bytes_ - kText.size()}) {
      REQUIRE_OK(cuMemcpyDtoH_v2(back.data(), place, back.size()));
      same = same && back == kText;
    }
    return same;
  }

 private:
  inline static const std::string kText = "what was written before";
  std::size_t bytes_;
  CUdeviceptr at_ = 0;
};

/// Has so much on device 0; at its parent's word it looks whether its memory is what it was.
inline void hold_a_pattern(Child& self, std::size_t bytes) {
  use_device(0);
  const Pattern pattern(bytes);
  self.tell_parent();
  for (;;) {
    self.wait_for_parent();
    REQUIRE(pattern.is_there());
    self.tell_parent();
  }
}

inline bool still_has_its_pattern(Child& victim) {
  victim.tell_child();
  return victim.wait_for_child();
}

}  // namespace berth::simgpu
