// SPDX-License-Identifier: Apache-2.0
#include "store/kept_messages.h"

#include <string>

namespace berth::store {
namespace {

Status change(Database& database, std::span<const AlertDelivery> put,
              std::span<const std::uint64_t> drop) {
  TRY(insert,
      database.prepare("INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const AlertDelivery& delivery : put) {
    insert.bind(1, delivery.number);
    insert.bind(2, delivery.id);
    insert.bind(3, delivery.rule);
    insert.bind(4, to_text(delivery.channel));
    insert.bind(5, delivery.body);
    insert.bind(6, static_cast<std::uint64_t>(delivery.created.value));
    insert.bind(7, static_cast<std::uint64_t>(delivery.next.value));
    insert.bind(8, std::uint64_t{delivery.attempts});
    TRY_STATUS(insert.run());
  }
  TRY(erase, database.prepare("DELETE FROM deliveries WHERE number = ?"));
  for (const std::uint64_t number : drop) {
    erase.bind(1, number);
    TRY_STATUS(erase.run());
  }
  return Unit{};
}

}  // namespace

Status make_messages_table(Database& database) {
  return database.execute(
      "CREATE TABLE IF NOT EXISTS deliveries (number INTEGER PRIMARY KEY, id TEXT NOT NULL,"
      " rule TEXT NOT NULL, channel TEXT NOT NULL, body TEXT NOT NULL,"
      " created_ms INTEGER NOT NULL, next_ms INTEGER NOT NULL, attempts INTEGER NOT NULL)");
}

Status keep_messages(Database& database, std::span<const AlertDelivery> put,
                     std::span<const std::uint64_t> drop) {
  TRY_STATUS(database.execute("PRAGMA synchronous = FULL"));
  TRY_STATUS(database.execute("BEGIN IMMEDIATE"));
  Status done = change(database, put, drop);
  if (done.ok()) done = database.execute("COMMIT");
  if (!done.ok() && database.in_transaction()) (void)database.execute("ROLLBACK");
  TRY_STATUS(database.execute("PRAGMA synchronous = NORMAL"));
  return done;
}

Result<std::vector<AlertDelivery>> kept_messages(Database& database) {
  TRY(rows, database.prepare("SELECT number, id, rule, channel, body, created_ms, next_ms,"
                             " attempts FROM deliveries ORDER BY number"));
  std::vector<AlertDelivery> all;
  for (;;) {
    TRY(row, rows.step());
    if (!row) return all;
    const auto channel = parse_alert_channel(rows.text(3));
    if (!channel) continue;  // Of a later release.
    all.push_back({.number = rows.number(0),
                   .id = std::string(rows.text(1)),
                   .rule = std::string(rows.text(2)),
                   .channel = *channel,
                   .body = std::string(rows.text(4)),
                   .created = {static_cast<std::int64_t>(rows.number(5))},
                   .next = {static_cast<std::int64_t>(rows.number(6))},
                   .attempts = static_cast<std::uint32_t>(rows.number(7))});
  }
}

}  // namespace berth::store
