// SPDX-License-Identifier: Apache-2.0
// The past on the disk, on a thread of its own: nobody who wants a lease ever waits for it. The
// thread owns the file and nothing else; letters go to and fro over a socket, each owned by the
// side that has it. Its methods are for the event loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/alert.h"
#include "model/audit_entry.h"
#include "model/history.h"
#include "os/worker.h"
#include "store/history_file.h"
#include "wire/history.h"

namespace berth::server {

struct HistoryWrite {
  std::vector<history::Series> seconds;
  std::vector<history::Session> leases;
  std::vector<store::RestingLease> resting;
  std::vector<AuditEntry> audit;
  std::optional<std::set<LeaseId>> live;  // All others have ended; at the start.
  UnixMs now;
};
struct HistoryAsk {
  enum class What : std::uint8_t { kPast, kSessions, kAudit };
  std::uint64_t ticket = 0;
  UserId user;  // Who asks.
  What what = What::kPast;
  history::Question question;
  std::optional<UserId> of_user = {};  // Of kAudit: who did it, or whose lease it was.
  wire::PastFacts facts;
};
/// Messages to be kept, or not any more, and the alerts that fire, if others do than before.
struct HistoryKeep {
  std::vector<AlertDelivery> put;
  std::vector<std::uint64_t> drop;
  std::optional<std::vector<FiringAlert>> firing;
  UnixMs now;
};
/// All that is kept of alerts is wanted.
struct HistoryRecall {
  UnixMs now;
};
struct HistoryLetter {
  std::variant<HistoryWrite, HistoryAsk, HistoryKeep, HistoryRecall> what;
  history::Retention retention;
};
struct HistoryReport {
  std::uint64_t ticket = 0;                   // Of what was asked; 0: nothing was.
  std::optional<Result<std::string>> answer;  // To that: a body.
  std::optional<KeptAlerts> kept;             // Recalled; nothing where it cannot be read.
  std::vector<std::string> findings;          // For the log.
};

class HistoryThread {
 public:
  static constexpr std::size_t kUnderWayMax = 64;  // Letters that are not yet dealt with.

  static Result<HistoryThread> start(store::HistoryOptions options);
  HistoryThread(HistoryThread&&) = default;
  HistoryThread& operator=(HistoryThread&&) = delete;
  ~HistoryThread();

  bool is_behind() const { return under_way_ >= kUnderWayMax; }
  /// False: it is behind with what it was sent before, and this was not taken.
  bool send(HistoryLetter letter);
  /// The next one, without waiting. There is one for each letter, in order.
  std::unique_ptr<HistoryReport> take_report();
  /// Readable when there is a report.
  int descriptor() const { return worker_.near().get(); }
  /// Waits until all that was sent is done, and ends the thread. Its reports can still be taken.
  void finish() { worker_.finish(); }

 private:
  explicit HistoryThread(os::Worker worker) : worker_(std::move(worker)) {}

  os::Worker worker_;
  std::size_t under_way_ = 0;
};

}  // namespace berth::server
