// SPDX-License-Identifier: Apache-2.0
#include "store/history_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "history/rollup.h"
#include "os/errors.h"
#include "os/files.h"
#include "os/unique_fd.h"
#include "store/quarantine.h"
#include "store/schema.h"

namespace berth::store {
namespace {

using history::Bucket;
using history::Grain;
using history::Series;
using history::Session;

constexpr std::size_t kIdsKept = 50'000;       // Of subjects; then they are looked up anew.
constexpr std::uint64_t kPagesReturned = 512;  // To the file system, in one pruning.

// A row is a bucket: `least`, and what `most` and `total` are above what they would be if the
// figure had not changed. It mostly has not, and a number that is 0 takes no room.
constexpr const char* kTables =
    "CREATE TABLE series (id INTEGER PRIMARY KEY, device TEXT NOT NULL, lease INTEGER NOT NULL,"
    " pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL, figure INTEGER NOT NULL,"
    " name TEXT NOT NULL, user_id INTEGER NOT NULL,"
    " UNIQUE (device, lease, pid, start_ticks, figure));"
    "CREATE TABLE seconds (series INTEGER, start INTEGER, known INTEGER NOT NULL,"
    " least INTEGER NOT NULL, spread INTEGER NOT NULL, above INTEGER NOT NULL,"
    " PRIMARY KEY (series, start)) WITHOUT ROWID;"
    "CREATE TABLE minutes (series INTEGER, start INTEGER, known INTEGER NOT NULL,"
    " least INTEGER NOT NULL, spread INTEGER NOT NULL, above INTEGER NOT NULL,"
    " PRIMARY KEY (series, start)) WITHOUT ROWID;"
    "CREATE TABLE hours (series INTEGER, start INTEGER, known INTEGER NOT NULL,"
    " least INTEGER NOT NULL, spread INTEGER NOT NULL, above INTEGER NOT NULL,"
    " PRIMARY KEY (series, start)) WITHOUT ROWID;"
    "CREATE TABLE leases (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, name TEXT NOT NULL,"
    " session TEXT NOT NULL, share TEXT NOT NULL, devices INTEGER NOT NULL,"
    " granted_bytes INTEGER NOT NULL, queued_ms INTEGER NOT NULL, started_ms INTEGER NOT NULL,"
    " ended_ms INTEGER, result TEXT, peak_bytes INTEGER, known_ms INTEGER NOT NULL,"
    " used_mib_ms INTEGER NOT NULL, unused_mib_ms INTEGER NOT NULL, seen_ms INTEGER NOT NULL);";
Bucket bucket_in(const Statement& row, int first) {
  Bucket bucket;
  bucket.start = row.signed_number(first);
  bucket.known = row.number32(first + 1);
  bucket.least = {row.number(first + 2)};
  bucket.most = bucket.least + Bytes{row.number(first + 3)};
  bucket.total = bucket.least.value * bucket.known + row.number(first + 4);
  return bucket;
}

Result<std::vector<Bucket>> buckets_in(Statement& rows) {
  std::vector<Bucket> buckets;
  for (;;) {
    TRY(row, rows.step());
    if (!row) return buckets;
    buckets.push_back(bucket_in(rows, 0));
  }
}

Status put_bucket(Statement& put, std::uint64_t series, const Bucket& bucket) {
  const Bytes flat{bucket.least.value * bucket.known};
  return put.run_with(series, bucket.start, bucket.known, bucket.least,
                      saturating_sub(bucket.most, bucket.least),
                      saturating_sub({bucket.total}, flat));
}

std::optional<std::string_view> word_of(const std::optional<EndResult>& result) {
  return result ? std::optional(to_text(*result)) : std::nullopt;
}

Status make_tables(Database& database) {
  // Before the first table; else it takes a rewrite of the file.
  TRY_STATUS(database.execute("PRAGMA auto_vacuum = INCREMENTAL"));
  return database.in_transaction([&] {
    return database.execute(std::string(kTables) +
                            "PRAGMA user_version = " + std::to_string(HistoryFile::kVersion) +
                            "; PRAGMA application_id = " + std::to_string(kHistoryApplicationId));
  });
}

history::Subject subject_in(const Statement& row, int first) {
  history::Subject subject;
  subject.device = parse_device_id(row.text(first)).value_or(DeviceId{});
  subject.lease = {row.number(first + 1)};
  subject.process = {.pid = static_cast<std::int32_t>(row.number(first + 2)),
                     .start_ticks = row.number(first + 3)};
  const auto figure = row.number(first + 4);
  constexpr auto kMost = static_cast<std::uint64_t>(history::kLastFigure);
  subject.figure = static_cast<history::Figure>(std::min(figure, kMost));
  return subject;
}

bool is_asked_for(const history::Subject& subject, const history::Question& question) {
  if (question.kind && history::kind_of(subject) != *question.kind) return false;
  if (question.device && subject.device != *question.device) return false;
  return !question.lease || subject.lease == *question.lease;
}

// Where the file alone was removed, what its log holds must not get into the next.
void forget_former_log(const os::UniqueFd& file, const std::string& path) {
  if (::lseek(file.get(), 0, SEEK_END) != 0) return;
  (void)::unlink((path + "-wal").c_str());
  (void)::unlink((path + "-shm").c_str());
}

std::optional<std::pair<dev_t, ino_t>> identity_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return std::pair(found.st_dev, found.st_ino);
}

}  // namespace

const char* HistoryFile::table_of(Grain grain) {
  constexpr std::array<const char*, 3> kNames = {"seconds", "minutes", "hours"};
  return kNames.at(static_cast<std::size_t>(grain));
}

bool HistoryFile::is_in_place() const {
  return identity_of(path_) == identity_;
}

Result<HistoryFile> HistoryFile::open(const HistoryOptions& options,
                                      std::vector<std::string>& findings) {
  for (int attempt = 0;; ++attempt) {
    const Result<FileHead> head = read_head(options.path);
    if (head.ok() && head->is_history && head->version > kVersion) {
      return Error{Errc::kVersion, options.path + " has format " + std::to_string(head->version) +
                                       ", and Berth " BERTH_VERSION " knows formats up to " +
                                       std::to_string(kVersion) + ": it was left as it is"};
    }
    Result<HistoryFile> file = open_database(options);
    if (file.ok() || attempt > 0 || file.error().code != Errc::kCorrupt) return file;
    findings.push_back(file.error().message);
    TRY(moved, quarantine(options.path, "corrupt", options.wall));
    findings.push_back(std::move(moved));
  }
}

Result<HistoryFile> HistoryFile::open_database(const HistoryOptions& options) {
  {
    // Made here, so that nobody else can read the names in it.
    const os::UniqueFd made(::open(options.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!made) return os::system_error("cannot open " + options.path, errno);
    forget_former_log(made, options.path);
  }
  const char* vfs = options.vfs.empty() ? nullptr : options.vfs.c_str();
  TRY(database, Database::open(options.path, Database::Access::kReadWrite, vfs));
  if (options.network_file_system) {
    TRY_STATUS(database.execute("PRAGMA locking_mode = EXCLUSIVE"));
  }
  TRY(tables, database.number("SELECT count(*) FROM sqlite_schema"));
  TRY(version, database.number("PRAGMA user_version"));
  if (tables == 0 && version == 0) TRY_STATUS(make_tables(database));
  TRY(id, database.number("PRAGMA application_id"));
  if (id != kHistoryApplicationId) {
    return Error{Errc::kCorrupt, options.path + " is a database of something else"};
  }
  if (version < kVersion) {
    // The tables are the same. What reads only the former would not know the figure that came.
    const std::string number = std::to_string(kVersion);
    TRY_STATUS(database.execute("PRAGMA user_version = " + number));
  }
  TRY(mode, database.prepare("PRAGMA journal_mode = WAL"));
  TRY_STATUS(mode.run());
  TRY_STATUS(make_messages_table(database));
  TRY_STATUS(make_audit_table(database));
  // What a power cut may take are the last minutes of it.
  TRY_STATUS(database.execute("PRAGMA synchronous = NORMAL"));
  TRY_STATUS(database.execute("PRAGMA journal_size_limit = 4194304"));
  return HistoryFile(std::move(database), options.path, identity_of(options.path));
}

Status HistoryFile::write(std::span<const Series> seconds, std::span<const Session> leases,
                          UnixMs now) {
  Status written =
      database_.in_transaction([&] { return write_in_transaction(seconds, leases, now); });
  if (!written.ok()) ids_.clear();  // Some may have been taken back.
  return written;
}

Status HistoryFile::write_in_transaction(std::span<const Series> seconds,
                                         std::span<const Session> leases, UnixMs now) {
  TRY(put, database_.prepare("INSERT OR REPLACE INTO seconds VALUES (?, ?, ?, ?, ?, ?)"));
  TRY(into_minutes, fold_into(Grain::kMinute));
  TRY(into_hours, fold_into(Grain::kHour));
  for (const Series& series : seconds) {
    TRY(id, id_of(series));
    for (const Bucket& run : history::runs_of(series.buckets)) {
      TRY_STATUS(put_bucket(put, id, run));
    }
    const auto minutes = history::rolled_up(series.buckets, into_minutes.step);
    TRY_STATUS(fold_in(id, minutes, into_minutes));
    TRY_STATUS(fold_in(id, history::rolled_up(minutes, into_hours.step), into_hours));
  }
  TRY(note, database_.prepare(
                "INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET name = excluded.name, share = excluded.share,"
                " devices = excluded.devices, granted_bytes = excluded.granted_bytes,"
                " started_ms = excluded.started_ms, ended_ms = excluded.ended_ms, result = "
                "excluded.result,"
                " peak_bytes = coalesce(max(peak_bytes, excluded.peak_bytes), peak_bytes,"
                " excluded.peak_bytes), known_ms = known_ms + excluded.known_ms,"
                " used_mib_ms = used_mib_ms + excluded.used_mib_ms,"
                " unused_mib_ms = unused_mib_ms + excluded.unused_mib_ms,"
                " seen_ms = excluded.seen_ms"));
  for (const Session& lease : leases) {
    TRY_STATUS(note.run_with(lease.id, lease.user, lease.name, lease.session, to_text(lease.share),
                             lease.devices, lease.granted, lease.queued, lease.started, lease.ended,
                             word_of(lease.result), lease.peak, lease.known_ms, lease.used_mib_ms,
                             lease.unused_mib_ms, now));
  }
  return Unit{};
}

Status HistoryFile::rest(std::span<const RestingLease> leases) {
  return database_.in_transaction([&]() -> Status {
    TRY(end, database_.prepare("UPDATE leases SET ended_ms = coalesce(ended_ms, ?2), result = ?3"
                               " WHERE id = ?1"));
    for (const RestingLease& lease : leases) {
      TRY_STATUS(end.run_with(lease.id, lease.since, word_of(lease.result)));
    }
    return Unit{};
  });
}

Status HistoryFile::keep_audit(std::span<const AuditEntry> audit) {
  if (audit.empty()) return Unit{};
  return database_.in_transaction([&] { return store::keep_audit(database_, audit); });
}

Status HistoryFile::end_all_but(const std::set<LeaseId>& live) {
  return database_.in_transaction([&]() -> Status {
    TRY(open, database_.prepare("SELECT id FROM leases WHERE ended_ms IS NULL"));
    std::vector<LeaseId> lost;
    for (;;) {
      TRY(row, open.step());
      if (!row) break;
      if (const LeaseId id{open.number(0)}; !live.contains(id)) lost.push_back(id);
    }
    TRY(end, database_.prepare("UPDATE leases SET ended_ms = max(seen_ms, started_ms),"
                               " result = 'lost' WHERE id = ?"));
    for (const LeaseId id : lost) {
      TRY_STATUS(end.run_with(id));
    }
    return Unit{};
  });
}

Result<std::uint64_t> HistoryFile::id_of(const Series& series) {
  if (const auto known = ids_.find(series.subject); known != ids_.end()) return known->second;
  if (ids_.size() >= kIdsKept) ids_.clear();
  const history::Subject& subject = series.subject;
  const std::string device = to_text(subject.device);
  const Process process = subject.process;
  const auto figure = static_cast<std::uint64_t>(subject.figure);
  TRY(insert, database_.prepare("INSERT OR IGNORE INTO series (device, lease, pid, start_ticks,"
                                " figure, name, user_id) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  TRY_STATUS(insert.run_with(device, subject.lease, process.pid, process.start_ticks, figure,
                             series.name, series.user));
  TRY(find, database_.prepare("SELECT id FROM series WHERE device = ? AND lease = ? AND pid = ?"
                              " AND start_ticks = ? AND figure = ?"));
  find.bind(device, subject.lease, process.pid, process.start_ticks, figure);
  TRY(row, find.step());
  if (!row) return Error{Errc::kCorrupt, "a series that was just written is not there"};
  const std::uint64_t id = find.number(0);
  ids_.emplace(subject, id);
  return id;
}

Result<HistoryFile::Fold> HistoryFile::fold_into(Grain grain) {
  const std::string name(table_of(grain));
  TRY(find, database_.prepare("SELECT start, known, least, spread, above FROM " + name +
                              " WHERE series = ? AND start = ?"));
  TRY(put, database_.prepare("INSERT OR REPLACE INTO " + name + " VALUES (?, ?, ?, ?, ?, ?)"));
  return Fold{std::move(find), std::move(put), history::seconds_of(grain)};
}

// What is there of the same stretch of time already is kept with it.
Status HistoryFile::fold_in(std::uint64_t series, std::span<const Bucket> buckets, Fold& into) {
  for (const Bucket& bucket : buckets) {
    into.find.bind(series, bucket.start);
    Bucket whole = bucket;
    TRY(row, into.find.step());
    if (row) whole = history::merged(bucket_in(into.find, 0), bucket);
    into.find.reset();
    TRY_STATUS(put_bucket(into.put, series, history::bounded(whole, into.step)));
  }
  return Unit{};
}

Status HistoryFile::prune(const history::Retention& retention, UnixMs now) {
  TRY_STATUS(database_.in_transaction([&] { return prune_in_transaction(retention, now); }));
  return database_.execute("PRAGMA incremental_vacuum(" + std::to_string(kPagesReturned) + ")");
}

// Reading.

Result<std::vector<HistoryFile::Known>> HistoryFile::all_series() {
  TRY(rows, database_.prepare("SELECT id, device, lease, pid, start_ticks, figure, name, user_id"
                              " FROM series ORDER BY id"));
  std::vector<Known> all;
  for (;;) {
    TRY(row, rows.step());
    if (!row) return all;
    all.push_back({.id = rows.number(0),
                   .series = {.subject = subject_in(rows, 1),
                              .name = std::string(rows.text(6)),
                              .user = {rows.number32(7)}}});
  }
}

// Those of devices, then one of each user, and so on: if there are too many, one user's many leave
// out none of another's few.
void HistoryFile::in_turns(std::vector<Known>& series) {
  std::map<UserId, std::uint64_t> so_far;
  std::vector<std::pair<std::uint64_t, Known>> placed;
  placed.reserve(series.size());
  for (Known& one : series) {
    const bool is_device = history::kind_of(one.series.subject) == history::Kind::kDevice;
    const std::uint64_t place = is_device ? 0 : ++so_far[one.series.user];
    placed.emplace_back(place, std::move(one));
  }
  std::ranges::stable_sort(placed, {}, &std::pair<std::uint64_t, Known>::first);
  series.clear();
  for (auto& [place, one] : placed) series.push_back(std::move(one));
}

Result<history::Past> HistoryFile::read(const history::Question& question,
                                        const history::Retention& retention, UnixMs now) {
  const Duration time = milliseconds(question.until.value - question.since.value);
  const auto wanted = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(question.step.ns / seconds(1).ns, 0, 86'400));
  const std::uint32_t step = wanted == 0 ? history::step_for(time) : wanted;
  const Duration back = milliseconds(now.value - question.since.value);
  const Grain grain = history::grain_for(step, back, retention);
  const std::uint32_t notified = history::step_from(grain, step);
  history::Past past{.step = seconds(notified)};
  TRY(all, all_series());
  std::erase_if(all,
                [&](const Known& known) { return !is_asked_for(known.series.subject, question); });
  in_turns(all);
  std::size_t points = 0;
  // Runs of seconds may begin up to a minute before.
  const std::int64_t from = history::start_of(question.since.value / 1'000, notified);
  const std::int64_t to = question.until.value / 1'000 + 1;
  TRY(rows, database_.prepare("SELECT start, known, least, spread, above FROM " +
                              std::string(table_of(grain)) +
                              " WHERE series = ?1 AND start >= ?2 AND start < ?3 ORDER BY start"));
  for (Known& known : all) {
    rows.bind(known.id, from - 60, to);
    TRY(found, buckets_in(rows));
    std::vector<Bucket> buckets = history::rolled_up(found, notified);
    std::erase_if(buckets, [&](const Bucket& bucket) { return bucket.start < from; });
    if (buckets.empty()) continue;
    points += buckets.size();
    if (points > kPointsMax) {
      past.cut = true;
      break;
    }
    known.series.buckets = std::move(buckets);
    past.series.push_back(std::move(known.series));
  }
  std::ranges::sort(past.series, {}, &Series::subject);
  return past;
}

}  // namespace berth::store
