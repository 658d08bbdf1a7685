// SPDX-License-Identifier: Apache-2.0
#include "store/kept_audit.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace berth::store {
namespace {

UserId user_in(const Statement& row, int column) {
  return {row.number32(column)};
}

// How many each may keep at most so that `drops` of all go.
std::uint64_t most_of_each(std::vector<std::pair<std::uint64_t, std::uint64_t>>& owners,
                           std::uint64_t drops) {
  std::ranges::sort(owners, std::greater<>());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    sum += owners[i].first;
    const std::uint64_t next = i + 1 < owners.size() ? owners[i + 1].first : 0;
    const std::uint64_t sharing = i + 1;
    if (sum >= drops && sum - drops >= next * sharing) return (sum - drops) / sharing;
  }
  return 0;
}

// What of whose leases most was done gives up its oldest, so that nobody's many push out another's
// few: of n owners each keeps kAuditKept / n at least.
Status drop_of_many(Database& database, std::uint64_t drops) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> owners;  // How many, and whose.
  TRY(rows, database.prepare("SELECT count(*), owner_id FROM audit GROUP BY owner_id"));
  for (;;) {
    TRY(row, rows.step());
    if (!row) break;
    owners.emplace_back(rows.number(0), rows.number(1));
  }
  TRY(drop, database.prepare("DELETE FROM audit WHERE id IN (SELECT id FROM audit"
                             " WHERE owner_id = ?1 ORDER BY id LIMIT ?2)"));
  const std::uint64_t most = most_of_each(owners, drops);
  for (const auto& [count, owner] : owners) {
    if (count <= most) continue;
    TRY_STATUS(drop.run_with(owner, count - most));
  }
  return Unit{};
}

}  // namespace

Status make_audit_table(Database& database) {
  return database.execute(
      "CREATE TABLE IF NOT EXISTS audit (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL,"
      " verb TEXT NOT NULL, by_id INTEGER, lease INTEGER NOT NULL, owner_id INTEGER NOT NULL,"
      " name TEXT NOT NULL, reason TEXT NOT NULL);"
      "CREATE INDEX IF NOT EXISTS audit_at ON audit (at_ms)");
}

Status keep_audit(Database& database, std::span<const AuditEntry> audit) {
  if (audit.empty()) return Unit{};
  TRY(insert, database.prepare("INSERT INTO audit (at_ms, verb, by_id, lease, owner_id, name,"
                               " reason) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  for (const AuditEntry& entry : audit) {
    TRY_STATUS(insert.run_with(entry.at, to_text(entry.verb), entry.by, entry.lease, entry.owner,
                               entry.name, entry.reason));
  }
  return Unit{};
}

Status drop_audit(Database& database, UnixMs before) {
  TRY_STATUS(database.run("DELETE FROM audit WHERE at_ms < ?", before));
  TRY(count, database.number("SELECT count(*) FROM audit"));
  if (count <= kAuditKept) return Unit{};
  return drop_of_many(database, count - kAuditKept);
}

Result<std::vector<AuditEntry>> kept_audit(Database& database, const AuditQuestion& question) {
  std::string text =
      "SELECT at_ms, verb, by_id, lease, owner_id, name, reason FROM audit"
      " WHERE at_ms >= ?1 AND at_ms <= ?2";
  if (question.lease) text += " AND lease = ?3";
  if (question.user) text += " AND (by_id = ?4 OR (lease <> 0 AND owner_id = ?4))";
  text += " ORDER BY id DESC LIMIT ?5";
  TRY(rows, database.prepare(text));
  rows.bind(question.since, question.until, question.lease, question.user, kAuditTold);
  std::vector<AuditEntry> audit;
  for (;;) {
    TRY(row, rows.step());
    if (!row) break;
    const std::optional<Verb> verb = parse_word<Verb>(rows.text(1));
    if (!verb) continue;  // Of a later release.
    AuditEntry entry{.at = {rows.signed_number(0)},
                     .verb = *verb,
                     .lease = {rows.number(3)},
                     .owner = user_in(rows, 4),
                     .name = std::string(rows.text(5)),
                     .reason = std::string(rows.text(6))};
    if (!rows.is_null(2)) entry.by = user_in(rows, 2);
    audit.push_back(std::move(entry));
  }
  std::ranges::reverse(audit);
  return audit;
}

}  // namespace berth::store
