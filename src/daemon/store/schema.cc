// SPDX-License-Identifier: Apache-2.0
#include "store/schema.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::store {
namespace {

// Step i leads from version i to version i + 1. A step that was released is never changed.
constexpr std::array<const char*, kSchemaVersion> kSteps = {
    // The line is the record as JSON. `position` and `sequence` are the order to apply them in.
    "CREATE TABLE snapshot (position INTEGER PRIMARY KEY, line TEXT NOT NULL);"
    "CREATE TABLE records (sequence INTEGER PRIMARY KEY, line TEXT NOT NULL);"
    "CREATE TABLE properties (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;"
    "INSERT INTO properties VALUES ('snapshot_sequence', 0);"
    "CREATE TABLE migrations (version INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL,"
    " release TEXT NOT NULL);",
};

// Offsets in the file's first 100 bytes, from SQLite's description of its format.
constexpr std::size_t kHeadSize = 100;
constexpr std::size_t kUserVersionAt = 60;
constexpr std::size_t kApplicationIdAt = 68;

std::uint32_t big_endian(const unsigned char* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24U | static_cast<std::uint32_t>(bytes[1]) << 16U |
         static_cast<std::uint32_t>(bytes[2]) << 8U | bytes[3];
}

Status apply_steps(Database& database, std::uint64_t from, UnixMs wall) {
  for (std::uint64_t version = from; version < kSchemaVersion; ++version) {
    TRY_STATUS(database.execute(kSteps[version]));
    TRY_STATUS(
        database.run("INSERT INTO migrations VALUES (?, ?, ?)", version + 1, wall, BERTH_VERSION));
  }
  return database.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion) +
                          "; PRAGMA application_id = " + std::to_string(kJournalApplicationId));
}

}  // namespace

Result<FileHead> read_head(const std::string& path) {
  const os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return os::system_error("cannot open " + path, errno);
  std::array<unsigned char, kHeadSize> head{};
  const ssize_t count = ::pread(fd.get(), head.data(), head.size(), 0);
  if (count < 0) return os::system_error("cannot read " + path, errno);
  constexpr std::array<char, 16> kMagic = {'S', 'Q', 'L', 'i', 't', 'e', ' ', 'f',
                                           'o', 'r', 'm', 'a', 't', ' ', '3', '\0'};
  if (static_cast<std::size_t>(count) < head.size() ||
      std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) {
    return FileHead{};
  }
  const std::uint32_t id = big_endian(head.data() + kApplicationIdAt);
  return FileHead{.is_journal = id == kJournalApplicationId,
                  .is_history = id == kHistoryApplicationId,
                  .version = big_endian(head.data() + kUserVersionAt)};
}

Status check_version(const std::string& path, std::uint32_t version) {
  if (version <= kSchemaVersion) return Unit{};
  return Error{Errc::kVersion,
               path + " has format " + std::to_string(version) +
                   ", and Berth " BERTH_VERSION " knows formats up to " +
                   std::to_string(kSchemaVersion) +
                   ": it was left as it is; start the newer Berth, or move it away"};
}

Status migrate(Database& database, const std::string& path, UnixMs wall) {
  TRY(version, database.number("PRAGMA user_version"));
  TRY_STATUS(check_version(path, static_cast<std::uint32_t>(version)));
  if (version == kSchemaVersion) return Unit{};
  return database.in_transaction([&] { return apply_steps(database, version, wall); });
}

}  // namespace berth::store
