// SPDX-License-Identifier: Apache-2.0
// The start of a journal: which file is to be believed, what is moved aside, what was recovered.
// Note [What is believed at start] in opening.cc has the rules. The daemon's thread, once.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/files.h"
#include "store/database.h"
#include "store/journal.h"
#include "store/maintenance_thread.h"
#include "store/sqlite_journal.h"
#include "store/start_marks.h"

namespace berth::store {

/// A database that is open and was read.
struct Content {
  Database database;
  bool shared = true;  // False: nobody else may open it, a thread of ours included.
  std::uint64_t snapshot_count = 0;
  std::uint64_t record_count = 0;
  std::uint64_t last_sequence = 0;
  std::string boot_id;  // Of the machine when it was written; empty if it is new.
};

struct OpenState {
  os::FileLock lock;
  StartMarks marks;
  MaintenancePaths places;
  Content content;
  Recovered recovered;
};

Result<OpenState> open_state(const JournalOptions& options);

}  // namespace berth::store
