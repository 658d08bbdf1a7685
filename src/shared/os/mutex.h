// SPDX-License-Identifier: Apache-2.0
// A lock that clang can follow, its guard, and what waits for a change under it. For memory that
// threads share, never around a call that blocks.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/thread_annotations.h"

namespace berth::os {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class Change;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() RELEASE() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

/// That something under the lock is another now. A thread that waits looks again, in a loop.
class Change {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    changed_.wait(held);
    held.release();  // It stays locked, as the caller knows it.
  }
  void notify() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace berth::os
