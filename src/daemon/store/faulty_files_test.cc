// SPDX-License-Identifier: Apache-2.0
// The door of store/faulty_files_for_test.h, and that it fails on command.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "store/database.h"
#include "store/faulty_files_for_test.h"

namespace berth::store {
namespace {

// SQLite gives room for it, with the real file behind.
struct File {
  sqlite3_file base;
  FaultyFiles* files;
  sqlite3_file* real;
};

File& as_file(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return as_file(file).real;
}
const sqlite3_io_methods& methods(sqlite3_file* file) {
  return *real(file)->pMethods;
}
sqlite3_vfs* real(sqlite3_vfs* /*vfs*/) {
  return sqlite3_vfs_find("unix");
}

int close(sqlite3_file* file) {
  return methods(file).xClose(real(file));
}
int read(sqlite3_file* file, void* to, int count, sqlite3_int64 at) {
  return methods(file).xRead(real(file), to, count, at);
}
int write(sqlite3_file* file, const void* from, int count, sqlite3_int64 at) {
  FaultyFiles& files = *as_file(file).files;
  switch (files.judge_write()) {
    case FaultyFiles::Verdict::kFail:
      return SQLITE_IOERR_WRITE;
    case FaultyFiles::Verdict::kTear:
      (void)methods(file).xWrite(real(file), from, count / 2, at);
      return SQLITE_IOERR_WRITE;
    case FaultyFiles::Verdict::kGoOn:
      break;
  }
  sqlite3_int64 size = 0;
  if (files.full() && methods(file).xFileSize(real(file), &size) == SQLITE_OK &&
      at + count > size) {
    return SQLITE_FULL;
  }
  return methods(file).xWrite(real(file), from, count, at);
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (as_file(file).files->judge_write() != FaultyFiles::Verdict::kGoOn) return SQLITE_IOERR;
  return methods(file).xTruncate(real(file), size);
}
int sync(sqlite3_file* file, int flags) {
  as_file(file).files->note_sync();
  return as_file(file).files->dead() ? SQLITE_IOERR_FSYNC : methods(file).xSync(real(file), flags);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return methods(file).xFileSize(real(file), size);
}
int lock(sqlite3_file* file, int level) {
  return methods(file).xLock(real(file), level);
}
int unlock(sqlite3_file* file, int level) {
  return methods(file).xUnlock(real(file), level);
}
int check_lock(sqlite3_file* file, int* held) {
  return methods(file).xCheckReservedLock(real(file), held);
}
int control(sqlite3_file* file, int what, void* argument) {
  FaultyFiles& files = *as_file(file).files;
  // The real one grows the file beside us when it is told how large it will be.
  if (what == SQLITE_FCNTL_SIZE_HINT && (files.full() || files.dead())) return SQLITE_FULL;
  return methods(file).xFileControl(real(file), what, argument);
}
int sector_size(sqlite3_file* file) {
  return methods(file).xSectorSize(real(file));
}
int characteristics(sqlite3_file* file) {
  return methods(file).xDeviceCharacteristics(real(file));
}
int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** at) {
  const bool full = as_file(file).files->full();
  const int done = methods(file).xShmMap(real(file), region, size, full ? 0 : extend, at);
  if (full && extend != 0 && done == SQLITE_OK && *at == nullptr) return SQLITE_IOERR_SHMSIZE;
  return done;
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return methods(file).xShmLock(real(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) {
  methods(file).xShmBarrier(real(file));
}
int shm_unmap(sqlite3_file* file, int remove) {
  return methods(file).xShmUnmap(real(file), remove);
}

constexpr sqlite3_io_methods kMethods = {.iVersion = 2,
                                         .xClose = close,
                                         .xRead = read,
                                         .xWrite = write,
                                         .xTruncate = truncate,
                                         .xSync = sync,
                                         .xFileSize = file_size,
                                         .xLock = lock,
                                         .xUnlock = unlock,
                                         .xCheckReservedLock = check_lock,
                                         .xFileControl = control,
                                         .xSectorSize = sector_size,
                                         .xDeviceCharacteristics = characteristics,
                                         .xShmMap = shm_map,
                                         .xShmLock = shm_lock,
                                         .xShmBarrier = shm_barrier,
                                         .xShmUnmap = shm_unmap};

int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  File& opened = as_file(file);
  opened.files = static_cast<FaultyFiles*>(vfs->pAppData);
  opened.real = reinterpret_cast<sqlite3_file*>(&opened + 1);
  const int done = real(vfs)->xOpen(real(vfs), name, opened.real, flags, flags_out);
  file->pMethods = opened.real->pMethods != nullptr ? &kMethods : nullptr;
  return done;
}
int remove(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  if (static_cast<FaultyFiles*>(vfs->pAppData)->dead()) return SQLITE_IOERR_DELETE;
  return real(vfs)->xDelete(real(vfs), name, sync_directory);
}

}  // namespace

FaultyFiles::FaultyFiles() {
  CHECK(sqlite3_vfs_find(kName) == nullptr);
  const sqlite3_vfs* unix_files = sqlite3_vfs_find("unix");
  vfs_ = *unix_files;
  vfs_.zName = kName;
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + unix_files->szOsFile;
  vfs_.xOpen = open;
  vfs_.xDelete = remove;
  CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
}

FaultyFiles::~FaultyFiles() {
  sqlite3_vfs_unregister(&vfs_);
}

void FaultyFiles::fail_write(std::uint64_t nth, After after) {
  const std::lock_guard lock(mutex_);
  writes_until_failure_ = nth;
  failing_thread_ = std::this_thread::get_id();
  after_ = after;
}

void FaultyFiles::set_dead(bool dead) {
  const std::lock_guard lock(mutex_);
  dead_ = dead;
}

void FaultyFiles::set_full(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
}

std::uint64_t FaultyFiles::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

std::size_t FaultyFiles::syncs_by(std::thread::id thread) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(syncs_, thread));
}

FaultyFiles::Verdict FaultyFiles::judge_write() {
  const std::lock_guard lock(mutex_);
  if (dead_) return Verdict::kFail;
  ++writes_;
  if (writes_until_failure_ == 0 || std::this_thread::get_id() != failing_thread_) {
    return Verdict::kGoOn;
  }
  if (--writes_until_failure_ > 0) return Verdict::kGoOn;
  dead_ = after_ == After::kStayDead;
  return Verdict::kTear;
}

bool FaultyFiles::dead() const {
  const std::lock_guard lock(mutex_);
  return dead_;
}

bool FaultyFiles::full() const {
  const std::lock_guard lock(mutex_);
  return full_;
}

void FaultyFiles::note_sync() {
  const std::lock_guard lock(mutex_);
  syncs_.push_back(std::this_thread::get_id());
}

namespace {

TEST(FaultyFiles, FailAsTheyAreTold) {
  std::string folder = testing::TempDir() + "berth-faulty-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  {
    FaultyFiles files;
    Result<Database> database =
        Database::open(folder + "/a", Database::Access::kCreate, FaultyFiles::kName);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").ok());
    const std::size_t syncs = files.syncs_by(std::this_thread::get_id());
    EXPECT_GT(syncs, 0u);

    const std::uint64_t before = files.writes();
    ASSERT_TRUE(database->execute("INSERT INTO t VALUES (1)").ok());
    const std::uint64_t writes = files.writes() - before;
    EXPECT_GT(writes, 0u);
    for (std::uint64_t n = 1; n <= writes; ++n) {
      files.fail_write(n, FaultyFiles::After::kGoOn);
      EXPECT_EQ(database->execute("INSERT INTO t VALUES (2)").error().code, Errc::kIo) << n;
      EXPECT_EQ(*database->number("SELECT count(*) FROM t"), 1u);
    }
    files.set_full(true);
    EXPECT_EQ(database->execute("INSERT INTO t VALUES (zeroblob(100000))").error().code,
              Errc::kFull);
    files.set_full(false);
    EXPECT_TRUE(database->execute("INSERT INTO t VALUES (2)").ok());
    files.set_dead(true);
    EXPECT_EQ(database->execute("INSERT INTO t VALUES (3)").error().code, Errc::kIo);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace berth::store
