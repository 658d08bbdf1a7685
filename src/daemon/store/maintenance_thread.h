// SPDX-License-Identifier: Apache-2.0
// Work on the journal's files that may take long, on a thread of its own: checkpoints of the
// write-ahead log, and the copy that survives a power cut. The thread owns a second connection to
// the database and nothing else; both sides speak by messages over a socket and share no memory.
// Its methods are for the daemon's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/worker.h"
#include "store/database.h"

namespace berth::store {

struct MaintenancePaths {
  std::string database;
  std::string copy;              // What survives a power cut.
  std::string copy_in_progress;  // Renamed to the former when it is whole.
  std::string vfs;               // SQLite's door to the files; empty: the usual one.
};

class MaintenanceThread {
 public:
  enum class Task : std::uint8_t { kCheckpoint, kCopy };
  struct Report {
    Task task = Task::kCheckpoint;
    std::uint64_t ticket = 0;    // As asked.
    std::vector<Error> trouble;  // One or none.
  };

  /// Starts the thread.
  static Result<MaintenanceThread> start(MaintenancePaths paths);

  /// At most one of each kind at a time: the next after the last one's report.
  void ask(Task task, std::uint64_t ticket);
  /// The next one, without waiting.
  std::optional<Report> take_report();
  /// Readable when there is a report.
  int descriptor() const { return worker_.near().get(); }
  /// Waits until all that was asked is done, and ends the thread. Its reports can still be taken.
  void finish() { worker_.finish(); }

 private:
  explicit MaintenanceThread(os::Worker worker) : worker_(std::move(worker)) {}

  os::Worker worker_;
};

/// Moves into the database file what the write-ahead log holds. Nobody has to wait for it.
Status checkpoint(Database& database);

/// Writes all that a database holds into a new file at `to`, by way of `in_progress`: what was at
/// `to` stays until the new file is whole, and on the disk itself. Blocks long.
Status write_copy(Database& from, const std::string& in_progress, const std::string& to);

}  // namespace berth::store
