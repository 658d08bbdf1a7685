// SPDX-License-Identifier: Apache-2.0
// The file of the past, history.db: figures in three grains, and the outcomes of leases. Nothing
// depends on it but answers about the past: one that cannot be read is moved aside, one of a later
// release is left alone, and on a full disk figures are lost. docs/history.md describes the tables.
// One thread, which may block on the disk: never the daemon's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "history/rollup.h"
#include "model/alert.h"
#include "model/history.h"
#include "store/database.h"
#include "store/kept_audit.h"
#include "store/pending_alerts.h"

namespace berth::store {

struct HistoryOptions {
  std::string path;
  UnixMs wall;
  bool network_file_system = false;
  std::string vfs;  // SQLite's door to the files; empty: the usual one.
};

/// A lease that was requeued: it holds nothing since then, and begins again unless it has ended.
struct RestingLease {
  LeaseId id;
  UnixMs since;
  std::optional<EndResult> result = {};
};

class HistoryFile {
 public:
  static constexpr std::uint32_t kVersion = 2;       // 1: without Figure::kUtilization.
  static constexpr std::size_t kPointsMax = 40'000;  // In one answer.
  static constexpr std::size_t kSessionsMax = 10'000;

  /// Makes the file if there is none. What cannot be read is moved aside, which `findings` tells.
  /// kVersion: a later release has written it.
  static Result<HistoryFile> open(const HistoryOptions& options,
                                  std::vector<std::string>& findings);

  /// It is still what is found at its path. Else it was removed or replaced, and what is
  /// written is lost.
  bool is_in_place() const;

  /// Seconds of each series, and how leases stand: all of it, or nothing. The figures of a lease
  /// are those since it was written last.
  Status write(std::span<const history::Series> seconds, std::span<const history::Session> leases,
               UnixMs now);
  /// Leases that have not ended, as far as is written, and are not among these were lost when they
  /// were written last.
  Status rest(std::span<const RestingLease> leases);
  Status end_all_but(const std::set<LeaseId>& live);
  /// Messages that are to be sent, and alerts that fire. On the disk itself when it returns.
  Status keep(const AlertChanges& changes) { return keep_messages(database_, changes); }
  Result<KeptAlerts> kept() { return kept_messages(database_); }
  /// All of them, or none.
  Status keep_audit(std::span<const AuditEntry> audit);
  Result<std::vector<AuditEntry>> audit(const AuditQuestion& question) {
    return kept_audit(database_, question);
  }
  /// Drops what is older than it is to be kept, and beyond the size the oldest of who has most.
  Status prune(const history::Retention& retention, UnixMs now);

  Result<history::Past> read(const history::Question& question, const history::Retention& retention,
                             UnixMs now);
  /// Those that held something in that time, oldest first. Where there are too many, the youngest
  /// of each user, as many of each as there is room for.
  Result<std::vector<history::Session>> sessions(const history::Question& question);
  /// Of the rows, without what is free inside the file.
  Result<Bytes> used();

 private:
  struct Known {
    std::uint64_t id = 0;
    history::Series series;  // Without buckets.
  };

  using Identity = std::optional<std::pair<dev_t, ino_t>>;
  HistoryFile(Database database, std::string path, Identity identity)
      : database_(std::move(database)), path_(std::move(path)), identity_(identity) {}
  static Result<HistoryFile> open_database(const HistoryOptions& options);
  Status write_in_transaction(std::span<const history::Series> seconds,
                              std::span<const history::Session> leases, UnixMs now);
  Result<std::uint64_t> id_of(const history::Series& series);
  struct Fold {
    Statement find;
    Statement put;
    std::uint32_t step;
  };
  Result<Fold> fold_into(history::Grain grain);
  static Status fold_in(std::uint64_t series, std::span<const history::Bucket> buckets, Fold& into);
  Result<std::vector<Known>> all_series();
  // Of one user, or of nobody: figures of devices.
  struct Part {
    std::vector<Known> series;
    std::uint64_t ended = 0;  // Leases.
    std::uint64_t size = 0;   // In bytes, about.
    std::uint64_t size_of_processes = 0;
  };
  using Parts = std::map<std::optional<UserId>, Part>;
  static const char* table_of(history::Grain grain);
  Status prune_in_transaction(const history::Retention& retention, UnixMs now);
  Result<Parts> parts_by_user();
  Status shorten_the_largest(const Parts& parts);
  Status shorten(std::span<const Known> series);
  Status drop_before(std::span<const Known> series, const char* table, std::int64_t start);
  Status drop_empty(std::span<const Known> series);
  static void in_turns(std::vector<Known>& series);

  Database database_;
  std::string path_;
  Identity identity_;                              // Of the file that was opened.
  std::map<history::Subject, std::uint64_t> ids_;  // As in the table; not of all.
};

}  // namespace berth::store
