// SPDX-License-Identifier: Apache-2.0
// GET /v1/live: all that a page shows, and then what is different. Written by the daemon, read
// leniently by pages and clients. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/audit_entry.h"
#include "model/lease.h"
#include "model/view.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/viewer.h"

namespace berth::wire {

/// Who looks.
struct LiveViewer {
  UserId user;
  bool may_act = false;
  bool admin = false;
};
constexpr auto fields_of(Is<LiveViewer> auto*) {
  return fields({"LiveViewer", "Who looks."}, field("user", &LiveViewer::user, "Who that is."),
                field("may_act", &LiveViewer::may_act, "False: the session is for looking alone."),
                field("admin", &LiveViewer::admin, "Leases of others may be changed too."));
}

struct LiveSnapshot {
  std::string epoch;
  std::uint64_t sequence = 0;
  std::string host;
  LiveViewer viewer;
  StatusAnswer status;
  AlertList alerts;
  std::vector<AuditEntry> events;
};
constexpr auto fields_of(Is<LiveSnapshot> auto*) {
  using Snapshot = LiveSnapshot;
  return fields(
      {"LiveSnapshot", "All that is known, at one moment.", "berth/live/v1"},
      field("epoch", &Snapshot::epoch, "Of this daemon: sequences of another say nothing of it.")
          .required(side::kAnswer),
      field("sequence", &Snapshot::sequence, "The next LiveChange has one more."),
      field("host", &Snapshot::host, "The machine's name."),
      field("viewer", &Snapshot::viewer, "Who looks."),
      field("status", &Snapshot::status, "Devices, leases and queue."),
      field("alerts", &Snapshot::alerts, "Rules, and what they say now."),
      field("events", &Snapshot::events, "The last of this daemon, the youngest first."));
}

struct LiveChange {
  std::uint64_t sequence = 0;
  UnixMs time;
  std::optional<std::string> trouble;
  std::optional<std::vector<DeviceView>> devices;
  std::optional<std::vector<LeaseView>> leases;
  std::optional<std::vector<LeaseId>> gone;
  std::optional<std::vector<LeaseId>> queue;
  std::optional<AlertList> alerts;
  std::optional<std::vector<AuditEntry>> events;

  bool is_empty() const {
    return !trouble && !devices && !leases && !gone && !queue && !alerts && !events;
  }
};
constexpr auto fields_of(Is<LiveChange> auto*) {
  using Change = LiveChange;
  return fields(
      {"LiveChange", "What is different since the message before; what is left out is as it was."},
      field("sequence", &Change::sequence, "One more than that of the message before."),
      field("time", &Change::time, "Of the message."),
      field("trouble", &Change::trouble, "As in the status; empty: none any more.").left_out(),
      field("devices", &Change::devices, "Those that are different.").left_out(),
      field("leases", &Change::leases,
            "Those that are different or new; those that have ended, too.")
          .left_out(),
      field("gone", &Change::gone, "Those that are live no more.").left_out(),
      field("queue", &Change::queue, "Waiting ones, next first.").left_out(),
      field("alerts", &Change::alerts, "All rules.").left_out(),
      field("events", &Change::events, "New ones, the youngest first.").left_out());
}

std::string encode_live_snapshot(const LiveSnapshot& snapshot, const Viewer& viewer);
/// `simulated`: the devices are.
std::string encode_live_change(const LiveChange& change, bool simulated, const Viewer& viewer);

struct NamedSnapshot {
  LiveSnapshot snapshot;
  UserNames names;
};
Result<NamedSnapshot> decode_live_snapshot(std::string_view text);
struct NamedChange {
  LiveChange change;
  UserNames names;
};
Result<NamedChange> decode_live_change(std::string_view text);

}  // namespace berth::wire
