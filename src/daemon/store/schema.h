// SPDX-License-Identifier: Apache-2.0
// The form of leases.db and how it came to be: one step for each version. docs/store.md describes
// the tables. The daemon's thread, at start.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "store/database.h"

namespace berth::store {

/// The version that this release writes.
inline constexpr std::uint32_t kSchemaVersion = 1;

// By these `file` and we know what a database is.
inline constexpr std::uint32_t kJournalApplicationId = 0x42727468;  // "Brth"
inline constexpr std::uint32_t kHistoryApplicationId = 0x42727470;  // "Brtp"

/// What the first bytes of a file say, without opening it as a database: looking must not change a
/// file of a later release.
struct FileHead {
  bool is_journal = false;  // Neither: no database, or not one of ours.
  bool is_history = false;
  std::uint32_t version = 0;
};
/// kNotFound where there is no file.
Result<FileHead> read_head(const std::string& path);

/// kVersion, naming both versions, where this release is too old for it.
Status check_version(const std::string& path, std::uint32_t version);

/// Makes the tables of a new database, or takes those of an older release to the present version.
/// In one transaction: it is of one version or of the other.
Status migrate(Database& database, const std::string& path, UnixMs wall);

}  // namespace berth::store
