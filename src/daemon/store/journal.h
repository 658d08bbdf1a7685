// SPDX-License-Identifier: Apache-2.0
// The door to the journal: the records that rebuild the coordinator's state after a death of the
// daemon. store/journal_conformance.h says what must be true of every implementation; the one on
// SQLite (store/sqlite_journal.h) and the simulated one both pass it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/record.h"

namespace berth::store {

/// How far sync() has come.
struct SyncProgress {
  std::uint64_t done = 0;        // What was asked for up to this ticket survives a power cut.
  std::optional<Error> trouble;  // Why the last attempt failed; the next sync() tries again.
};

struct JournalFacts {
  std::string path;
  std::uint64_t last_sequence = 0;
  std::uint64_t snapshot_count = 0;  // Records in the snapshot.
  std::uint64_t record_count = 0;    // Records after it.
  Bytes size;                        // Of all its files, with what is set aside for a full disk.
  Bytes write_ahead_used;            // Of what is set aside.
  std::string trouble;  // Of the work beside the daemon's thread; empty if there is none.
};

class Journal {
 public:
  Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  virtual ~Journal() = default;

  /// All of these survive a death of the daemon when this returns, or none was written: kFull where
  /// the disk is, else kIo. Their sequence numbers follow the last one written; what failed may be
  /// tried again, alone or with more after it.
  virtual Status append(std::span<const Record> records) = 0;

  /// Puts the snapshot in the place of whatever was written before, in one step. The next record is
  /// that after `last_sequence`.
  virtual Status replace(std::span<const Record> snapshot, std::uint64_t last_sequence) = 0;

  virtual std::uint64_t last_sequence() const = 0;

  /// Asks that all that was written until now survives a power cut too. Does not wait: it does
  /// once synced().done is at least the returned ticket.
  virtual std::uint64_t sync() = 0;
  virtual SyncProgress synced() = 0;

  /// The daemon has answered its first request: what it read cannot be what kills it at start.
  virtual void mark_answered() = 0;

  virtual JournalFacts facts() const = 0;
};

/// What an opened journal held.
struct Recovered {
  std::vector<Record> snapshot;  // To be applied first, in this order,
  std::vector<Record> records;   // and then these.
  bool same_boot = true;         // False: the machine was restarted since.
  bool safe_mode = false;  // The journal was moved aside, because reading it kills the daemon.
  std::vector<std::string> findings;  // For people: to be said aloud, and by `doctor`.
};

struct OpenedJournal {
  std::unique_ptr<Journal> journal;
  Recovered recovered;
  /// Readable when synced() has something new. Absent: sync() has done it when it returns.
  std::optional<int> sync_descriptor;
};

}  // namespace berth::store
