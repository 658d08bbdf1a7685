// SPDX-License-Identifier: Apache-2.0
// The journal in a state directory, on SQLite. What is appended survives the daemon's death by a
// plain write; nothing is synced on the daemon's thread. Checkpoints, and the copy that survives a
// power cut, are made by a thread of their own (store/maintenance_thread.h). docs/store.md
// describes the files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "store/journal.h"

namespace berth::store {

struct JournalOptions {
  std::string directory;  // There already, and private.
  std::string boot_id;
  Instant now;
  UnixMs wall;
  /// Set aside on the disk, so that records can be written when it is full.
  Bytes write_ahead = mib(64);
  /// Locks of the file system are not to be trusted: one connection, and all work on this thread.
  bool network_file_system = false;
  std::string vfs;  // SQLite's door to the files; empty: the usual one.
};

class SqliteJournal final : public Journal {
 public:
  /// kConflict, naming the process, where another has this directory; kVersion where the journal is
  /// of a later release, which leaves it untouched. A damaged one is moved aside and told about.
  static Result<OpenedJournal> open(const JournalOptions& options);
  ~SqliteJournal() override;

  Status append(std::span<const Record> records) override;
  Status replace(std::span<const Record> snapshot, std::uint64_t last_sequence) override;
  std::uint64_t last_sequence() const override;
  std::uint64_t sync() override;
  SyncProgress synced() override;
  void mark_answered() override;
  JournalFacts facts() const override;

  struct Impl;
  /// For open() alone.
  explicit SqliteJournal(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::store
