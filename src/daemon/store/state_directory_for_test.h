// SPDX-License-Identifier: Apache-2.0
// A machine with one state directory of its own, and journals on SQLite in it: what the conformance
// suite and the tests of the store work on. For tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/files.h"
#include "store/database.h"
#include "store/faulty_files_for_test.h"
#include "store/journal_conformance.h"
#include "store/sqlite_journal.h"

namespace berth::store {

class StateDirectory {
 public:
  StateDirectory() {
    std::string name = testing::TempDir() + "berth-state-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    options.directory = name;
    options.boot_id = "boot-1";
    options.now = {seconds(100).ns};
    options.wall = {1'770'470'100'000};
    options.write_ahead = kib(256);
    options.vfs = FaultyFiles::kName;
  }
  ~StateDirectory() { std::filesystem::remove_all(options.directory); }
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  Result<OpenedJournal> open() {
    Result<OpenedJournal> opened = SqliteJournal::open(options);
    // Most tests are not about daemons that die before they answer.
    if (opened.ok() && answers) opened->journal->mark_answered();
    return opened;
  }
  void kill(std::unique_ptr<Journal> journal) {
    files.set_dead(true);
    journal.reset();
    files.set_dead(false);
    pass(seconds(1));
  }
  /// Whatever was not synced is scrambled.
  void cut_power() {
    for (const char* name : {"leases.db", "leases.db-wal"}) {
      if (!std::filesystem::exists(at(name))) continue;
      std::fstream file(at(name), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(2'000);
      file << std::string(20'000, '\x5a');
    }
    boot();
  }
  void fail_write(std::uint64_t nth) { files.fail_write(nth, FaultyFiles::After::kGoOn); }
  void set_full(bool full) { files.set_full(full); }

  void boot() {
    options.boot_id += "+";
    options.now = {seconds(50).ns};
  }
  void pass(Duration time) {
    options.now = options.now + time;
    options.wall.value += time.ns / 1'000'000;
  }
  std::string at(const std::string& name) const { return options.directory + "/" + name; }
  /// Files of the directory whose names begin so.
  std::size_t count(const std::string& start) const {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options.directory)) {
      if (entry.path().filename().string().starts_with(start)) ++found;
    }
    return found;
  }

  FaultyFiles files;
  JournalOptions options;
  bool answers = true;
};

/// A test on a machine with a state directory.
class StateDirectoryTest : public testing::Test {
 protected:
  OpenedJournal start() {
    Result<OpenedJournal> opened = state_.open();
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return *std::move(opened);
  }
  /// A daemon that came and went in order, and left these records.
  void leave(std::uint64_t first, std::uint64_t count) {
    OpenedJournal opened = start();
    ASSERT_TRUE(opened.journal->append(numbered(first, count)).ok());
  }
  std::string read(const std::string& name) const {
    const Result<std::string> content = os::read_file(state_.at(name), std::size_t{1} << 26U);
    return content.ok() ? *content : "there is none";
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(state_.at(name), std::ios::binary) << content;
  }
  void execute(const std::string& sql) const {
    Result<Database> database =
        Database::open(state_.at("leases.db"), Database::Access::kReadWrite, nullptr);
    ASSERT_TRUE(database->execute(sql).ok()) << database->error().message;
  }
  static std::string all(const std::vector<std::string>& findings) {
    std::string text;
    for (const std::string& finding : findings) text += finding + "\n";
    return text;
  }

  StateDirectory state_;
};

}  // namespace berth::store
