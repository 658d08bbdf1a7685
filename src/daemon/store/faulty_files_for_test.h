// SPDX-License-Identifier: Apache-2.0
// A door to the files for SQLite that fails on command: the n-th write, every write from some
// moment on, every write that would make a file larger. It also counts who syncs. For tests; one
// instance at a time, whose methods any thread may call.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::store {

class FaultyFiles {
 public:
  static constexpr const char* kName = "faulty";

  /// Registers the door with SQLite.
  FaultyFiles();
  ~FaultyFiles();
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;

  enum class After : std::uint8_t { kGoOn, kStayDead };
  /// The n-th write of the calling thread from now on fails when half of it is done. 0: none does.
  void fail_write(std::uint64_t nth, After after);
  /// From now on nothing reaches a file, as if the process had been killed here.
  void set_dead(bool dead);
  /// From now on no file can grow.
  void set_full(bool full);

  std::uint64_t writes() const;  // Of all threads.
  std::size_t syncs_by(std::thread::id thread) const;

  // For the file methods.
  enum class Verdict : std::uint8_t { kGoOn, kFail, kTear };
  Verdict judge_write();
  bool dead() const;
  bool full() const;
  void note_sync();

 private:
  mutable std::mutex mutex_;
  std::uint64_t writes_ = 0;
  std::uint64_t writes_until_failure_ = 0;  // 0: none.
  std::thread::id failing_thread_;
  After after_ = After::kGoOn;
  bool dead_ = false;
  bool full_ = false;
  std::vector<std::thread::id> syncs_;
  sqlite3_vfs vfs_{};
};

}  // namespace berth::store
