// SPDX-License-Identifier: Apache-2.0
// Note [What is believed at start]
// leases.db is written without syncing: it survives the daemon, and after a power cut it may be
// anything. leases.synced.db is whole at any moment, and older. So:
// - A journal that is newer than this release is left untouched, and so is everything else.
// - In another boot than that of the last start leases.db is not even looked at. It makes way
//   before the start is noted, so that a start that dies in between is not taken for a later one.
// - Where there is no leases.db, it begins as a copy of leases.synced.db.
// - What cannot be read is moved aside under a name with the time, and said aloud.
// - If the last two starts died before they answered anybody, reading it is what kills: both files
//   are moved aside (safe mode).
#include "store/opening.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <variant>

#include "model/record_json.h"
#include "os/errors.h"
#include "store/quarantine.h"
#include "store/schema.h"

namespace berth::store {
namespace {

constexpr off_t kDatabaseMin = 512;           // The smallest page there is.
constexpr int kGrowth = 1 << 20;              // The database file grows by whole MiB.
constexpr std::uint64_t kIdsSkipped = 5'000;  // More than are given out between two copies.
constexpr std::size_t kLinesNamed = 8;        // Findings about single lines; the rest is a sum.

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The ids that a fact shows to be in use are below this.
std::uint64_t next_id_after(const Fact& fact) {
  if (const auto* queued = std::get_if<RequestQueued>(&fact)) return queued->id.value + 1;
  if (const auto* restored = std::get_if<LeaseRestored>(&fact)) return restored->view->id.value + 1;
  if (const auto* counters = std::get_if<CountersRestored>(&fact)) return counters->next_id;
  return 0;
}

class Opener {
 public:
  explicit Opener(const JournalOptions& options) : options_(options) {}
  Result<OpenState> open();

 private:
  std::string at(const char* name) const { return options_.directory + "/" + name; }
  void say(std::string finding) { recovered_.findings.push_back(std::move(finding)); }

  Result<os::FileLock> lock() const;
  Status check_versions() const;
  Status make_way_after_boot();
  Result<Content> find_content();
  Status part_from_stray_log();
  Result<bool> restore_copy();
  Result<Content> open_database();
  Result<Content> open_database(bool shared);
  Status prepare(Database& database, bool shared);
  Status read(Content& content);
  Result<std::uint64_t> read_lines(Database& database, const char* sql, std::vector<Record>& into);
  void set_space_aside();
  Status quarantine(const std::string& path, const std::string& why);
  void skip_ids();

  const JournalOptions& options_;
  const std::string database_ = at("leases.db");
  const std::string copy_ = at("leases.synced.db");
  const std::string restoring_ = at("leases.restored.db");
  bool clean_ = false;  // The last daemon closed the journal, copy included.
  Recovered recovered_;
};

Result<OpenState> Opener::open() {
  TRY(lock, this->lock());
  TRY_STATUS(check_versions());
  StartMarks marks(at("starts"));
  const StartMark now{.boot_id = options_.boot_id,
                      .at = options_.now,
                      .wall = options_.wall,
                      .pid = ::getpid(),
                      .release = BERTH_VERSION};
  const std::optional<StartMark> last = marks.last();
  clean_ = last && last->outcome == Outcome::kClosed;
  recovered_.safe_mode = marks.journal_kills(now);
  if (!last || last->boot_id != now.boot_id) TRY_STATUS(make_way_after_boot());
  if (Status noted = marks.add(now); !noted.ok()) {
    // On a full disk the leases that run now count for more than knowing about this start, but a
    // later one must not mistake the last boot for this.
    if (!last || last->boot_id != now.boot_id) return noted.error();
    say("this start could not be noted: " + noted.error().message);
  }
  Result<Content> content = find_content();
  if (!content.ok()) {
    (void)marks.take_back();  // It ends in order, and says why.
    return content.error();
  }
  recovered_.same_boot = content->boot_id.empty() || content->boot_id == options_.boot_id;
  return OpenState{.lock = std::move(lock),
                   .marks = std::move(marks),
                   .places = {.database = database_,
                              .copy = copy_,
                              .copy_in_progress = at("leases.synced.new"),
                              .vfs = options_.vfs},
                   .content = *std::move(content),
                   .recovered = std::move(recovered_)};
}

Result<os::FileLock> Opener::lock() const {
  Result<os::FileLock> lock = os::FileLock::take(at("lock"));
  if (lock.ok() || lock.error().code != Errc::kConflict) return lock;
  return Error{Errc::kConflict, "the state directory " + options_.directory +
                                    " is in use: " + lock.error().message +
                                    "; stop that daemon, or set another state_dir"};
}

Status Opener::check_versions() const {
  for (const std::string& path : {database_, copy_}) {
    const Result<FileHead> head = read_head(path);
    if (head.ok() && head->is_journal) TRY_STATUS(check_version(path, head->version));
  }
  return Unit{};
}

Status Opener::make_way_after_boot() {
  if (!os::exists(database_)) return Unit{};
  if (!os::exists(copy_)) return quarantine(database_, "unsynced");
  for (const char* part : {"-wal", "-shm", ""}) {
    const std::string path = database_ + part;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return os::system_error("cannot remove " + path, errno);
    }
  }
  return Unit{};
}

Result<Content> Opener::find_content() {
  if (recovered_.safe_mode) {
    say("safe mode: the last two daemons died within a minute, before they answered anybody; the "
        "journal is moved aside and nothing is granted. Cure: look at it and at the daemon's log, "
        "then stop and start the daemon");
    for (const std::string& path : {database_, copy_}) {
      if (os::exists(path)) TRY_STATUS(quarantine(path, "unsafe"));
    }
  }
  // leases.db, then the copy, then nothing: each is given up at most once.
  for (int attempt = 0;; ++attempt) {
    CHECK(attempt < 4);
    TRY_STATUS(part_from_stray_log());
    bool restored = false;
    if (!os::exists(database_)) {
      TRY(done, restore_copy());
      restored = done;
    }
    Result<Content> content = open_database();
    if (content.ok()) {
      if (restored && !clean_) skip_ids();
      return content;
    }
    if (content.error().code != Errc::kCorrupt) return content;
    say(content.error().message);
    recovered_.snapshot.clear();
    recovered_.records.clear();
    TRY_STATUS(quarantine(database_, "corrupt"));
    // A copy that came to that is no better than what it was copied to.
    if (restored) TRY_STATUS(quarantine(copy_, "corrupt"));
  }
}

// SQLite throws away the log of a database that is empty, and plays any log that it finds into
// whatever database it finds beside it.
Status Opener::part_from_stray_log() {
  const std::string log = database_ + "-wal";
  if (!os::exists(log)) return Unit{};
  struct stat found{};
  const bool is_there = ::stat(database_.c_str(), &found) == 0;
  if (is_there && found.st_size >= kDatabaseMin) return Unit{};
  if (is_there) {
    say(database_ + " is cut short");
    return quarantine(database_, "corrupt");
  }
  return quarantine(log, "stray");
}

// True: leases.db is the copy now.
Result<bool> Opener::restore_copy() {
  if (!os::exists(copy_)) return false;
  Status restored = [&]() -> Status {
    const char* vfs = options_.vfs.empty() ? nullptr : options_.vfs.c_str();
    TRY(database, Database::open(copy_, Database::Access::kReadOnly, vfs));
    return write_copy(database, restoring_, database_);
  }();
  if (restored.ok()) {
    if (!clean_) say(file_name(copy_) + " is used: the last journal that was synced");
    return true;
  }
  if (restored.error().code != Errc::kCorrupt) return restored.error();
  say(restored.error().message);
  TRY_STATUS(quarantine(copy_, "corrupt"));
  return false;
}

Result<Content> Opener::open_database() {
  if (options_.network_file_system) return open_database(false);
  Result<Content> content = open_database(true);
  if (content.ok()) return content;
  const Errc code = content.error().code;
  if (code != Errc::kFull && code != Errc::kIo) return content;
  // A second connection needs a file of its own beside the database, for which a full disk may have
  // no room. What runs must be found again even so.
  const std::string trouble = content.error().message;
  recovered_.snapshot.clear();
  recovered_.records.clear();
  content = open_database(false);
  if (content.ok()) say(trouble + "; the journal is used by one connection alone until a restart");
  return content;
}

Result<Content> Opener::open_database(bool shared) {
  {
    // Made here, so that nobody else can read the command lines in it.
    const os::UniqueFd made(::open(database_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!made) return os::system_error("cannot open " + database_, errno);
  }
  const char* vfs = options_.vfs.empty() ? nullptr : options_.vfs.c_str();
  TRY(database, Database::open(database_, Database::Access::kReadWrite, vfs));
  TRY_STATUS(prepare(database, shared));
  Content content{.database = std::move(database), .shared = shared};
  TRY_STATUS(read(content));
  set_space_aside();
  return content;
}

Status Opener::prepare(Database& database, bool shared) {
  // First of all: the next pragma reads the database, and by then it must be known how.
  if (!shared) TRY_STATUS(database.execute("PRAGMA locking_mode = EXCLUSIVE"));
  // Nothing is synced on this thread: Note [What is believed at start].
  TRY_STATUS(database.execute("PRAGMA synchronous = OFF"));
  TRY(tables, database.number("SELECT count(*) FROM sqlite_schema"));
  TRY(version, database.number("PRAGMA user_version"));
  if (tables > 0 && version == 0) {
    return Error{Errc::kCorrupt, database_ + " is a database of something else"};
  }
  TRY_STATUS(migrate(database, database_, options_.wall));
  TRY(mode, database.prepare("PRAGMA journal_mode = WAL"));
  TRY(row, mode.step());
  if (!row || mode.text(0) != "wal") {
    return Error{Errc::kIo, database_ + ": this file system has no write-ahead log for SQLite"};
  }
  TRY_STATUS(mode.run());
  TRY_STATUS(database.execute("PRAGMA wal_autocheckpoint = 0"));
  int keep = 1;
  int growth = kGrowth;
  // Neither is more than a wish: on a door to files that knows them not, the space is just not
  // kept.
  (void)sqlite3_file_control(database.handle(), nullptr, SQLITE_FCNTL_PERSIST_WAL, &keep);
  (void)sqlite3_file_control(database.handle(), nullptr, SQLITE_FCNTL_CHUNK_SIZE, &growth);
  return Unit{};
}

Status Opener::read(Content& content) {
  Database& database = content.database;
  TRY(snapshot_sequence,
      database.number("SELECT value FROM properties WHERE name = 'snapshot_sequence'"));
  TRY(snapshot_count, read_lines(database, "SELECT position, line FROM snapshot ORDER BY position",
                                 recovered_.snapshot));
  TRY(record_count, read_lines(database, "SELECT sequence, line FROM records ORDER BY sequence",
                               recovered_.records));
  TRY(last, database.number("SELECT coalesce(max(sequence), 0) FROM records"));
  content.snapshot_count = snapshot_count;
  content.record_count = record_count;
  content.last_sequence = std::max(snapshot_sequence, last);
  const std::uint64_t missing = content.last_sequence - snapshot_sequence - record_count;
  if (content.last_sequence > snapshot_sequence && missing != 0) {
    say(database_ + ": " + std::to_string(missing) + " of the records up to " +
        std::to_string(content.last_sequence) + " are missing");
  }
  TRY(boot, database.prepare("SELECT value FROM properties WHERE name = 'boot_id'"));
  TRY(row, boot.step());
  if (row) content.boot_id = boot.text(0);
  return Unit{};
}

// How many lines there are; those that are no records are told about, and the rest goes on.
Result<std::uint64_t> Opener::read_lines(Database& database, const char* sql,
                                         std::vector<Record>& into) {
  TRY(lines, database.prepare(sql));
  std::uint64_t count = 0;
  std::size_t unread = 0;
  for (;; ++count) {
    TRY(row, lines.step());
    if (!row) break;
    Result<Record> record = parse_record(lines.text(1));
    if (record.ok()) {
      into.push_back(*std::move(record));
    } else if (++unread <= kLinesNamed) {
      say(database_ + ": line " + std::to_string(lines.number(0)) +
          " is left out: " + record.error().message);
    }
  }
  if (unread > kLinesNamed) {
    say(database_ + ": " + std::to_string(unread - kLinesNamed) + " more lines are left out");
  }
  return count;
}

void Opener::set_space_aside() {
  if (Status kept = os::reserve_space(database_ + "-wal", options_.write_ahead); !kept.ok()) {
    say(kept.error().message + ": when the disk is full, nothing new will be granted");
  }
}

Status Opener::quarantine(const std::string& path, const std::string& why) {
  TRY(moved, store::quarantine(path, why, options_.wall));
  say(std::move(moved));
  return Unit{};
}

// Numbers of leases are never given twice: those that may have been given out after the copy was
// written are left out.
void Opener::skip_ids() {
  std::uint64_t next = 0;
  for (const std::vector<Record>* list : {&recovered_.snapshot, &recovered_.records}) {
    for (const Record& record : *list) next = std::max(next, next_id_after(record.fact));
  }
  if (next == 0) return;
  recovered_.records.push_back({.at = options_.now,
                                .wall = options_.wall,
                                .fact = CountersRestored{.next_id = next + kIdsSkipped}});
  say("the numbers of leases go on from " + std::to_string(next + kIdsSkipped) +
      ": some below may have been given out just before");
}

}  // namespace

Result<OpenState> open_state(const JournalOptions& options) {
  return Opener(options).open();
}

}  // namespace berth::store
