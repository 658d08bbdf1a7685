// SPDX-License-Identifier: Apache-2.0
// The one thread that writes checkpoints, the two copies it writes from, and what others ask of it:
// saves are done in the order in which they were asked for. Any thread may call any method; after a
// fork, the child gets the error that the writer stayed with its parent.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/thread_annotations.h"
#include "berth/checkpoint.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/disk.h"
#include "checkpoint/staging_memory.h"
#include "os/mutex.h"

namespace berth::checkpoint {

class Writer {
 public:
  static Result<std::unique_ptr<Writer>> start(std::unique_ptr<Disk> disk, const Options& options);
  /// Use start.
  Writer(std::unique_ptr<Disk> disk, CheckpointDirectory checkpoints, const Options& options);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// Finishes what was asked for. Not for a child of a fork: its thread is not there.
  ~Writer();

  Result<Saved> save(const Snapshot& snapshot) EXCLUDES(mutex_);
  Result<Store::Stall> save_in_background(const Snapshot& snapshot) EXCLUDES(mutex_);
  Status reserve(std::size_t bytes) EXCLUDES(mutex_);
  Status wait() EXCLUDES(mutex_);
  std::vector<Result<Saved>> reports() EXCLUDES(mutex_);

  bool in_a_child() const;
  const std::string& directory() const { return directory_; }

 private:
  static constexpr std::size_t kCopies = 2;
  static constexpr std::size_t kReportsMax = 64;

  class Hold;
  struct Job {
    FilePlan plan;
    CheckpointInfo about;
    std::optional<std::size_t> copy;  // The one that the plan points into.
    // Of one that is waited for.
    std::unique_ptr<std::promise<Result<Saved>>> answer;
  };

  Status check() const;
  /// A copy that is nobody's, or this one once it is; it is the caller's until given back.
  std::size_t acquire_any() EXCLUDES(mutex_);
  void acquire(std::size_t copy) EXCLUDES(mutex_);
  void give_back(std::size_t copy) EXCLUDES(mutex_);
  /// Copies what the job's plan points at, and makes it point at the copy.
  Result<Store::Stall> stage(Job& job) EXCLUDES(mutex_);
  void add(Job job) EXCLUDES(mutex_);
  std::optional<Job> next() EXCLUDES(mutex_);
  void run() EXCLUDES(mutex_);
  Result<Saved> perform(Job& job) noexcept;

  const pid_t pid_;
  const std::string directory_;
  const bool stages_all_;  // Tensors may be where only the given copy function can read.
  const std::unique_ptr<Disk> disk_;
  CheckpointDirectory checkpoints_;  // The thread's alone, once it runs.

  os::Mutex mutex_;
  os::Change change_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  bool at_work_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::array<bool, kCopies> in_use_ GUARDED_BY(mutex_) = {};
  std::deque<Result<Saved>> reports_ GUARDED_BY(mutex_);
  // Each belongs to the thread that has set its in_use_.
  std::array<StagingMemory, kCopies> copies_;
  std::thread thread_;
};

}  // namespace berth::checkpoint
