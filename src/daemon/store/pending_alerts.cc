// SPDX-License-Identifier: Apache-2.0
#include "store/pending_alerts.h"

#include <optional>
#include <string>
#include <utility>

namespace berth::store {
namespace {

Status replace_firing(Database& database, const std::vector<FiringAlert>& firing) {
  TRY_STATUS(database.execute("DELETE FROM firing"));
  TRY(insert, database.prepare("INSERT INTO firing VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const FiringAlert& alert : firing) {
    const std::string device = alert.lease == LeaseId{} ? to_text(alert.device) : "";
    TRY_STATUS(insert.run_with(alert.rule, alert.when, device, alert.lease, alert.name, alert.text,
                               alert.since, alert.notified));
  }
  return Unit{};
}

Result<std::vector<FiringAlert>> read_firing(Database& database) {
  TRY(rows, database.prepare("SELECT rule, expression, device, lease, name, text, since_ms, told_ms"
                             " FROM firing ORDER BY rule, device, lease"));
  std::vector<FiringAlert> all;
  for (;;) {
    TRY(row, rows.step());
    if (!row) return all;
    const std::optional<DeviceId> device = parse_device_id(rows.text(2));
    const LeaseId lease{rows.number(3)};
    if (!device && lease == LeaseId{}) continue;
    all.push_back({.rule = std::string(rows.text(0)),
                   .when = std::string(rows.text(1)),
                   .device = device.value_or(DeviceId{}),
                   .lease = lease,
                   .name = std::string(rows.text(4)),
                   .text = std::string(rows.text(5)),
                   .since = {rows.signed_number(6)},
                   .notified = {rows.signed_number(7)}});
  }
}

Status change(Database& database, const AlertChanges& changes) {
  TRY(insert,
      database.prepare("INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const AlertDelivery& delivery : changes.put) {
    TRY_STATUS(insert.run_with(delivery.number, delivery.id, delivery.rule,
                               to_text(delivery.channel), delivery.body, delivery.created,
                               delivery.next, delivery.attempts));
  }
  TRY(erase, database.prepare("DELETE FROM deliveries WHERE number = ?"));
  for (const std::uint64_t number : changes.drop) {
    TRY_STATUS(erase.run_with(number));
  }
  if (changes.firing != nullptr) TRY_STATUS(replace_firing(database, *changes.firing));
  return Unit{};
}

}  // namespace

Status make_messages_table(Database& database) {
  TRY_STATUS(database.execute(
      "CREATE TABLE IF NOT EXISTS firing (rule TEXT NOT NULL, expression TEXT NOT NULL,"
      " device TEXT NOT NULL, lease INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,"
      " since_ms INTEGER NOT NULL, told_ms INTEGER NOT NULL)"));
  return database.execute(
      "CREATE TABLE IF NOT EXISTS deliveries (number INTEGER PRIMARY KEY, id TEXT NOT NULL,"
      " rule TEXT NOT NULL, channel TEXT NOT NULL, body TEXT NOT NULL,"
      " created_ms INTEGER NOT NULL, next_ms INTEGER NOT NULL, attempts INTEGER NOT NULL)");
}

Status keep_messages(Database& database, const AlertChanges& changes) {
  TRY_STATUS(database.execute("PRAGMA synchronous = FULL"));
  const Status done = database.in_transaction([&] { return change(database, changes); });
  TRY_STATUS(database.execute("PRAGMA synchronous = NORMAL"));
  return done;
}

Result<KeptAlerts> kept_messages(Database& database) {
  TRY(firing, read_firing(database));
  TRY(rows, database.prepare("SELECT number, id, rule, channel, body, created_ms, next_ms,"
                             " attempts FROM deliveries ORDER BY number"));
  KeptAlerts all{.messages = {}, .firing = std::move(firing)};
  for (;;) {
    TRY(row, rows.step());
    if (!row) return all;
    const auto channel = parse_word<AlertDelivery::Channel>(rows.text(3));
    if (!channel) continue;  // Of a later release.
    all.messages.push_back({.number = rows.number(0),
                            .id = std::string(rows.text(1)),
                            .rule = std::string(rows.text(2)),
                            .channel = *channel,
                            .body = std::string(rows.text(4)),
                            .created = {rows.signed_number(5)},
                            .next = {rows.signed_number(6)},
                            .attempts = rows.number32(7)});
  }
}

}  // namespace berth::store
