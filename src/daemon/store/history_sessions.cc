// SPDX-License-Identifier: Apache-2.0
// Outcomes of leases, as the file of the past has them.
#include <string>
#include <utility>

#include "store/history_file.h"

namespace berth::store {

using history::Session;

Result<std::vector<Session>> HistoryFile::sessions(const history::Question& question) {
  // Ranked among their user's own, youngest first: where there are too many, each user has a share.
  TRY(rows, database_.prepare("SELECT id, user_id, name, session, share, devices, granted_bytes,"
                              " queued_ms, started_ms, ended_ms, result, peak_bytes, known_ms,"
                              " used_mib_ms, unused_mib_ms FROM leases WHERE id IN (SELECT id FROM"
                              " (SELECT id, row_number() OVER (PARTITION BY user_id ORDER BY id"
                              " DESC) AS place FROM leases WHERE started_ms < ?2 AND (ended_ms IS"
                              " NULL OR ended_ms >= ?1) AND (?3 = 0 OR id = ?3))"
                              " ORDER BY place, id DESC LIMIT ?4) ORDER BY id"));
  rows.bind(question.since, question.until, question.lease.value_or(LeaseId{}), kSessionsMax);
  std::vector<Session> sessions;
  for (;;) {
    TRY(row, rows.step());
    if (!row) return sessions;
    Session session{.id = {rows.number(0)},
                    .user = {rows.number32(1)},
                    .name = std::string(rows.text(2)),
                    .session = std::string(rows.text(3)),
                    .share = parse_word<Share>(rows.text(4)).value_or(Share::kBudget),
                    .devices = rows.number32(5),
                    .granted = {rows.number(6)},
                    .queued = {rows.signed_number(7)},
                    .started = {rows.signed_number(8)},
                    .result = parse_word<EndResult>(rows.text(10)),
                    .known_ms = rows.number(12),
                    .used_mib_ms = rows.number(13),
                    .unused_mib_ms = rows.number(14)};
    if (!rows.is_null(9)) session.ended = UnixMs{rows.signed_number(9)};
    if (!rows.is_null(11)) session.peak = Bytes{rows.number(11)};
    sessions.push_back(std::move(session));
  }
}

}  // namespace berth::store
