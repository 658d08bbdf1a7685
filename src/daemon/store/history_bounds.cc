// SPDX-License-Identifier: Apache-2.0
// Removal from the file of the past of what is old, or too much for the file: then the oldest of
// the user who has most in it, so that one user's many take nothing from another's few.
#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "store/history_file.h"

namespace berth::store {
namespace {

using history::Grain;

constexpr int kShortenMax = 12;  // Rounds in one pruning.
constexpr Grain kGrains[] = {Grain::kSecond, Grain::kMinute, Grain::kHour};
// About what a row takes, with what it is found by.
constexpr std::uint64_t kSeriesRow = 250;
constexpr std::uint64_t kFigureRow = 30;
constexpr std::uint64_t kLeaseRow = 250;

}  // namespace

Status HistoryFile::drop_before(std::span<const Known> series, const char* table,
                                std::int64_t start) {
  TRY(drop,
      database_.prepare("DELETE FROM " + std::string(table) + " WHERE series = ? AND start < ?"));
  for (const Known& one : series) {
    TRY_STATUS(drop.run_with(one.id, start));
  }
  return Unit{};
}

Status HistoryFile::prune_in_transaction(const history::Retention& retention, UnixMs now) {
  TRY(series, all_series());
  for (const Grain grain : kGrains) {
    const std::int64_t kept_ms = history::kept_for(grain, retention).ns / milliseconds(1).ns;
    const std::int64_t start = (now.value - kept_ms) / 1'000 - history::seconds_of(grain);
    TRY_STATUS(drop_before(series, table_of(grain), start));
  }
  const UnixMs kept_from{now.value - retention.hour.ns / milliseconds(1).ns};
  TRY_STATUS(database_.run("DELETE FROM leases WHERE ended_ms < ?", kept_from));
  TRY_STATUS(drop_audit(database_, kept_from));
  TRY_STATUS(drop_empty(series));
  for (int round = 0; round < kShortenMax; ++round) {
    TRY(size, used());
    if (size <= retention.size_max) break;
    TRY(parts, parts_by_user());
    TRY_STATUS(shorten_the_largest(parts));
    for (const auto& [user, part] : parts) TRY_STATUS(drop_empty(part.series));
  }
  return Unit{};
}

// Without those that have nothing which can go.
Result<HistoryFile::Parts> HistoryFile::parts_by_user() {
  Parts parts;
  TRY(series, all_series());
  std::string counting;
  for (const Grain grain : kGrains) {
    counting += counting.empty() ? "SELECT" : " +";
    counting += std::string(" (SELECT count(*) FROM ") + table_of(grain) + " WHERE series = ?1)";
  }
  TRY(count, database_.prepare(counting));
  for (Known& one : series) {
    const history::Kind kind = history::kind_of(one.series.subject);
    Part& part =
        parts[kind == history::Kind::kDevice ? std::nullopt : std::optional(one.series.user)];
    count.bind(one.id);
    TRY(row, count.step());
    const std::uint64_t size = kSeriesRow + (row ? count.number(0) : 0) * kFigureRow;
    count.reset();
    part.size += size;
    if (kind == history::Kind::kProcess) part.size_of_processes += size;
    part.series.push_back(std::move(one));
  }
  TRY(ended, database_.prepare("SELECT user_id, count(*) FROM leases WHERE ended_ms IS NOT NULL"
                               " GROUP BY user_id"));
  for (;;) {
    TRY(row, ended.step());
    if (!row) return parts;
    Part& part = parts[UserId{ended.number32(0)}];
    part.ended = ended.number(1);
    part.size += part.ended * kLeaseRow;
  }
}

// Who has less than the n-th part of what n have loses nothing. Of the others single processes go
// first, as long as they are most of it: there may be very many of them.
Status HistoryFile::shorten_the_largest(const Parts& parts) {
  std::uint64_t sum = 0;
  for (const auto& [user, part] : parts) sum += part.size;
  TRY(drop, database_.prepare("DELETE FROM leases WHERE id IN (SELECT id FROM leases WHERE"
                              " user_id = ?1 AND ended_ms IS NOT NULL ORDER BY id LIMIT ?2)"));
  const auto is_process = [](const Known& one) {
    return history::kind_of(one.series.subject) == history::Kind::kProcess;
  };
  for (const auto& [user, part] : parts) {
    if (part.size < sum / parts.size()) continue;
    if (part.size_of_processes > part.size / 2) {
      std::vector<Known> processes;
      std::ranges::copy_if(part.series, std::back_inserter(processes), is_process);
      TRY_STATUS(shorten(processes));
      continue;
    }
    TRY_STATUS(shorten(part.series));
    if (!user) continue;
    TRY_STATUS(drop.run_with(*user, part.ended / 4 + 1));
  }
  return Unit{};
}

// By the oldest quarter of the time that each grain covers.
Status HistoryFile::shorten(std::span<const Known> series) {
  for (const Grain grain : kGrains) {
    const char* table = table_of(grain);
    std::string of = "(start) FROM ";
    of.append(table).append(" WHERE series = ?1)");
    std::string both = "SELECT (SELECT min";
    both.append(of).append(", (SELECT max").append(of);
    TRY(ends, database_.prepare(both));
    std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
    std::int64_t newest = 0;
    for (const Known& one : series) {
      ends.bind(one.id);
      TRY(row, ends.step());
      if (row && !ends.is_null(0)) {
        oldest = std::min(oldest, ends.signed_number(0));
        newest = std::max(newest, ends.signed_number(1));
      }
      ends.reset();
    }
    if (newest < oldest) continue;
    TRY_STATUS(drop_before(series, table, oldest + (newest - oldest) / 4 + 1));
  }
  return Unit{};
}

Status HistoryFile::drop_empty(std::span<const Known> series) {
  TRY(drop, database_.prepare("DELETE FROM series WHERE id = ?1 AND NOT EXISTS"
                              " (SELECT 1 FROM hours WHERE series = ?1) AND NOT EXISTS"
                              " (SELECT 1 FROM minutes WHERE series = ?1) AND NOT EXISTS"
                              " (SELECT 1 FROM seconds WHERE series = ?1)"));
  for (const Known& one : series) {
    TRY_STATUS(drop.run_with(one.id));
  }
  ids_.clear();
  return Unit{};
}

Result<Bytes> HistoryFile::used() {
  TRY(pages, database_.number("PRAGMA page_count"));
  TRY(free, database_.number("PRAGMA freelist_count"));
  TRY(size, database_.number("PRAGMA page_size"));
  return Bytes{(pages - std::min(pages, free)) * size};
}

}  // namespace berth::store
