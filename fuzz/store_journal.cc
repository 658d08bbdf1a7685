// SPDX-License-Identifier: Apache-2.0
// A state directory with damaged files: a daemon starts over them, or says why not, and what it
// starts with can be written. The first byte of the input says which file the rest is.
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "fuzz.h"
#include "scratch.h"
#include "store/journal.h"
#include "store/sqlite_journal.h"

namespace {

constexpr std::array kFiles = {"leases.db", "leases.db-wal", "starts", "leases.synced.db"};

// Emptied each time.
const std::string& directory() {
  return berth::fuzz::scratch_directory();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    std::filesystem::remove_all(entry.path());
  }
  std::ofstream(directory() + "/" + kFiles.at(*data % kFiles.size()), std::ios::binary)
      << berth::fuzz::text_of(data + 1, size - 1);
  auto opened = berth::store::SqliteJournal::open({.directory = directory(),
                                                   .boot_id = "boot-1",
                                                   .now = {berth::seconds(100).ns},
                                                   .wall = {1'770'470'100'000},
                                                   .write_ahead = berth::kib(256),
                                                   .network_file_system = true});
  if (!opened.ok()) {
    CHECK(!opened.error().message.empty());
    return 0;
  }
  opened->journal->mark_answered();
  CHECK(opened->journal->replace({}, opened->journal->last_sequence()).ok());
  return 0;
}
