// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_journal.h"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include "model/record_json.h"
#include "store/database.h"
#include "store/maintenance_thread.h"
#include "store/opening.h"
#include "store/start_marks.h"

namespace berth::store {
namespace {

// Pages in the write-ahead log that make a checkpoint worth while: 4 MiB of them.
constexpr std::uint64_t kCheckpointEvery = 1'000;
// Transactions that a power cut may undo; fewer than the numbers of leases skipped after one.
constexpr std::uint64_t kCopyEvery = 1'000;
constexpr std::uint64_t kFrameSize = 4'096 + 24;  // A page and what stands before it in the log.

std::uint64_t size_of(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

// Called by SQLite after each commit, on the thread that committed.
int note_frames(void* frames, sqlite3* /*database*/, const char* /*name*/, int count) {
  *static_cast<std::uint64_t*>(frames) = static_cast<std::uint64_t>(count);
  return SQLITE_OK;
}

struct Statements {
  Status prepare(Database& database);

  Statement begin;
  Statement commit;
  Statement rollback;
  Statement insert_record;
  Statement insert_snapshot;
  Statement delete_records;
  Statement delete_snapshot;
  Statement set_property;
};

Status Statements::prepare(Database& database) {
  // What was to be written, and whose failure was only seeming, may be written again.
  constexpr const char* kInsertRecord = "REPLACE INTO records VALUES (?, ?)";
  for (const auto& [statement, sql] :
       {std::pair(&begin, "BEGIN IMMEDIATE"), std::pair(&commit, "COMMIT"),
        std::pair(&rollback, "ROLLBACK"), std::pair(&insert_record, kInsertRecord),
        std::pair(&insert_snapshot, "INSERT INTO snapshot VALUES (?, ?)"),
        std::pair(&delete_records, "DELETE FROM records"),
        std::pair(&delete_snapshot, "DELETE FROM snapshot"),
        std::pair(&set_property, "REPLACE INTO properties VALUES (?, ?)")}) {
    TRY(prepared, database.prepare(sql));
    *statement = std::move(prepared);
  }
  return Unit{};
}

struct WriteAheadLog {
  std::uint64_t frames = 0;  // Since it was last begun anew.
  std::uint64_t before = 0;  // As many at the last look.
  std::uint64_t checkpoint_at = kCheckpointEvery;
  bool checkpointing = false;
  std::string trouble;  // Of the last checkpoint; empty: none.
};

}  // namespace

struct SqliteJournal::Impl {
  Status insert(Statement& into, std::uint64_t key, const Record& record);
  Status write_records(std::span<const Record> records);
  Status write_snapshot(std::span<const Record> snapshot, std::uint64_t snapshot_sequence);
  template <class Body>
  Status in_transaction(const Body& body);
  Status write_boot();
  void after_write();
  void ask_for_copy();
  void copied(std::uint64_t ticket, std::optional<Error> trouble);
  void take_reports();

  os::FileLock lock;
  StartMarks marks;
  MaintenancePaths places;
  std::string boot_id;
  bool boot_is_written;  // The database says that it is of this boot.
  Database database;
  Statements statements;
  std::optional<MaintenanceThread> maintenance;  // Absent where nobody else may open the database.
  std::string line;                              // Kept for its memory.

  std::uint64_t last_sequence = 0;
  std::uint64_t snapshot_count = 0;
  std::uint64_t record_count = 0;

  WriteAheadLog wal;

  // Transactions are counted; the tickets of sync() are their numbers. What was found at start is
  // the first.
  std::uint64_t written = 1;
  std::uint64_t wanted = 0;  // The last ticket that was given out.
  std::uint64_t asked = 0;   // The last one that the copy is made for.
  bool copying = false;
  SyncProgress progress;
};

Result<OpenedJournal> SqliteJournal::open(const JournalOptions& options) {
  TRY(state, open_state(options));
  Content& content = state.content;
  // From here on a failure is no death in the sense of safe mode, because it is told.
  const auto fail = [&](const Error& error) {
    (void)state.marks.take_back();
    return error;
  };
  Statements statements;
  const Status prepared = statements.prepare(content.database);
  if (!prepared.ok()) return fail(prepared.error());
  std::optional<MaintenanceThread> maintenance;
  if (content.shared) {
    Result<MaintenanceThread> started = MaintenanceThread::start(state.places);
    if (!started.ok()) return fail(started.error());
    maintenance.emplace(*std::move(started));
  }
  const std::optional<int> descriptor =
      maintenance ? std::optional(maintenance->descriptor()) : std::nullopt;
  auto impl = std::make_unique<Impl>(Impl{.lock = std::move(state.lock),
                                          .marks = std::move(state.marks),
                                          .places = std::move(state.places),
                                          .boot_id = options.boot_id,
                                          .boot_is_written = content.boot_id == options.boot_id,
                                          .database = std::move(content.database),
                                          .statements = std::move(statements),
                                          .maintenance = std::move(maintenance)});
  impl->last_sequence = content.last_sequence;
  impl->snapshot_count = content.snapshot_count;
  impl->record_count = content.record_count;
  sqlite3_wal_hook(impl->database.handle(), note_frames, &impl->wal.frames);
  return OpenedJournal{.journal = std::make_unique<SqliteJournal>(std::move(impl)),
                       .recovered = std::move(state.recovered),
                       .sync_descriptor = descriptor};
}

SqliteJournal::SqliteJournal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SqliteJournal::~SqliteJournal() {
  if (auto& maintenance = impl_->maintenance) maintenance->finish();
  // What was wanted after the copy that has just been finished is made here: the thread is gone.
  const std::uint64_t wanted = std::exchange(impl_->wanted, impl_->asked);
  impl_->take_reports();
  impl_->maintenance.reset();
  impl_->wanted = wanted;
  if (wanted > impl_->asked) impl_->ask_for_copy();
  if (impl_->progress.done == impl_->written) (void)impl_->marks.set_outcome(Outcome::kClosed);
}

Status SqliteJournal::append(std::span<const Record> records) {
  if (records.empty()) return Unit{};
  TRY_STATUS(impl_->in_transaction([&] { return impl_->write_records(records); }));
  impl_->last_sequence = records.back().sequence;
  impl_->record_count += records.size();
  impl_->after_write();
  return Unit{};
}

Status SqliteJournal::replace(std::span<const Record> snapshot, std::uint64_t last_sequence) {
  TRY_STATUS(impl_->in_transaction([&] { return impl_->write_snapshot(snapshot, last_sequence); }));
  impl_->last_sequence = last_sequence;
  impl_->snapshot_count = snapshot.size();
  impl_->record_count = 0;
  impl_->after_write();
  (void)sync();
  return Unit{};
}

std::uint64_t SqliteJournal::last_sequence() const {
  return impl_->last_sequence;
}

std::uint64_t SqliteJournal::sync() {
  impl_->wanted = impl_->written;
  if (!impl_->copying && impl_->progress.done < impl_->wanted) impl_->ask_for_copy();
  return impl_->wanted;
}

SyncProgress SqliteJournal::synced() {
  impl_->take_reports();
  return impl_->progress;
}

void SqliteJournal::mark_answered() {
  // If it cannot be noted, the worst is that two quick deaths look like safe mode's.
  (void)impl_->marks.set_outcome(Outcome::kAnswered);
}

JournalFacts SqliteJournal::facts() const {
  const MaintenancePaths& places = impl_->places;
  JournalFacts facts{.path = places.database,
                     .last_sequence = impl_->last_sequence,
                     .snapshot_count = impl_->snapshot_count,
                     .record_count = impl_->record_count,
                     .write_ahead_used = {impl_->wal.frames * kFrameSize},
                     .trouble = impl_->wal.trouble};
  for (const char* part : {"", "-wal", "-shm"}) facts.size += {size_of(places.database + part)};
  facts.size += {size_of(places.copy)};
  if (const auto& trouble = impl_->progress.trouble) facts.trouble = trouble->message;
  return facts;
}

Status SqliteJournal::Impl::insert(Statement& into, std::uint64_t key, const Record& record) {
  line.clear();
  append_json(record, line);
  return into.run_with(key, line);
}

Status SqliteJournal::Impl::write_records(std::span<const Record> records) {
  std::uint64_t before = records.front().sequence - 1;
  for (const Record& record : records) {
    CHECK(record.sequence == before + 1);
    before = record.sequence;
    TRY_STATUS(insert(statements.insert_record, record.sequence, record));
  }
  return Unit{};
}

Status SqliteJournal::Impl::write_snapshot(std::span<const Record> snapshot,
                                           std::uint64_t snapshot_sequence) {
  TRY_STATUS(statements.delete_snapshot.run());
  TRY_STATUS(statements.delete_records.run());
  std::uint64_t position = 0;
  for (const Record& record : snapshot) {
    TRY_STATUS(insert(statements.insert_snapshot, ++position, record));
  }
  return statements.set_property.run_with("snapshot_sequence", snapshot_sequence);
}

// All that the body writes, or nothing.
template <class Body>
Status SqliteJournal::Impl::in_transaction(const Body& body) {
  TRY_STATUS(statements.begin.run());
  Status done = body();
  if (done.ok() && !boot_is_written) done = write_boot();
  if (done.ok()) done = statements.commit.run();
  if (done.ok()) {
    boot_is_written = true;
    return done;
  }
  // Some failures have rolled it back already. If this fails, the next BEGIN does and says so.
  if (database.is_in_transaction()) (void)statements.rollback.run();
  return done;
}

// With the first that is written in a new boot: it ends what is left of the last one, so that from
// then on everything in the database is of this boot.
Status SqliteJournal::Impl::write_boot() {
  return statements.set_property.run_with("boot_id", boot_id);
}

void SqliteJournal::Impl::after_write() {
  ++written;
  take_reports();
  if (wal.frames < wal.before) wal.checkpoint_at = kCheckpointEvery;
  wal.before = wal.frames;
  if (written - asked >= kCopyEvery && !copying) {
    wanted = written;
    ask_for_copy();
  }
  if (wal.frames < wal.checkpoint_at || wal.checkpointing) return;
  // One that fails, as on a full disk, is not tried again at each record.
  wal.checkpoint_at = wal.frames + kCheckpointEvery;
  if (maintenance) {
    wal.checkpointing = true;
    maintenance->ask(MaintenanceThread::Task::kCheckpoint, 0);
  } else {
    const Status done = checkpoint(database);
    wal.trouble = done.ok() ? "" : done.error().message;
  }
}

void SqliteJournal::Impl::ask_for_copy() {
  asked = wanted;
  progress.trouble.reset();
  if (maintenance) {
    copying = true;
    maintenance->ask(MaintenanceThread::Task::kCopy, asked);
    return;
  }
  const Status done = write_copy(database, places.copy_in_progress, places.copy);
  copied(asked, done.ok() ? std::nullopt : std::optional(done.error()));
}

void SqliteJournal::Impl::copied(std::uint64_t ticket, std::optional<Error> trouble) {
  copying = false;
  if (!trouble) progress.done = ticket;
  progress.trouble = std::move(trouble);
}

void SqliteJournal::Impl::take_reports() {
  while (maintenance) {
    std::optional<MaintenanceThread::Report> report = maintenance->take_report();
    if (!report) return;
    std::optional<Error> trouble;
    if (!report->trouble.empty()) trouble = std::move(report->trouble.front());
    switch (report->task) {
      case MaintenanceThread::Task::kCheckpoint:
        wal.checkpointing = false;
        wal.trouble = trouble ? trouble->message : "";
        break;
      case MaintenanceThread::Task::kCopy:
        copied(report->ticket, std::move(trouble));
        if (wanted > asked) ask_for_copy();
        break;
    }
  }
}

}  // namespace berth::store
