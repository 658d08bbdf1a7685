// SPDX-License-Identifier: Apache-2.0
// The daemon's memory of the past: takes down what each look at the devices shows, has it written
// from time to time, and has questions about it answered. Nothing waits for it, and what goes wrong
// with it costs figures of the past and nothing else. The event loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "core/coordinator.h"
#include "history/collector.h"
#include "http/fair_queue.h"
#include "model/audit_entry.h"
#include "model/device.h"
#include "server/history_thread.h"

namespace berth::server {

struct HistorySettings {
  bool record = true;
  history::Retention retention;
  Duration sample_interval;
};

class HistoryRecorder {
 public:
  static constexpr Duration kWriteEvery = seconds(10);
  static constexpr std::size_t kAskedMax = 32;    // Questions of one user that wait.
  static constexpr std::size_t kAskedAtOnce = 2;  // That the thread has; of one user in turn.
  using Say = std::function<void(const std::string&)>;
  using Then = std::function<void(const Result<std::string>&)>;

  /// Starts the thread, which touches no file before it has something to do.
  HistoryRecorder(store::HistoryOptions options, const HistorySettings& settings, Say warn);
  ~HistoryRecorder();
  HistoryRecorder(const HistoryRecorder&) = delete;
  HistoryRecorder& operator=(const HistoryRecorder&) = delete;

  void configure(const HistorySettings& settings);

  /// After the coordinator has taken the sample in.
  void sampled(const Sample& sample, const core::Coordinator& coordinator, core::Now now);
  /// A record says that it has ended. The coordinator may not know it yet.
  void ended(LeaseId lease);
  /// To be kept with the past.
  void did(const AuditEntry& entry);
  /// A record says that it waits again.
  void requeued(LeaseId lease, UnixMs at) { requeued_[lease] = at; }
  /// When it is time, what was taken down goes to be written.
  void on_timer(const core::Coordinator& coordinator, core::Now now);
  Instant next() const;
  /// All of it, at the end; waits until it is written.
  void finish(const core::Coordinator& coordinator, core::Now now);

  /// The body of an answer comes later, from the event loop. What was taken down until now is in
  /// it. kConflict: this user asks for too much at once.
  void ask(HistoryAsk ask, const core::Coordinator& coordinator, core::Now now, Then then);

  /// Of alerts, to be kept on the disk. False: not now, try again later.
  bool keep(HistoryKeep keep);
  using Kept = std::function<void(KeptAlerts)>;
  /// What a daemon before this one has kept comes later, from the event loop. Once.
  void recall(core::Now now, Kept then);

  /// Readable when there are reports; absent if nothing is kept.
  std::optional<int> descriptor() const;
  void hear_reports();

 private:
  void start();
  void follow_lease(const LeaseView& lease, core::Now now, Duration since_last);
  void catch_up(const core::Coordinator& coordinator, core::Now now, HistoryWrite& write);
  void note_end_of_waiting(const LeaseView& lease);
  void note_ended(const core::Coordinator& coordinator, core::Now now);
  void ask_on();
  void write(std::vector<history::Series> seconds, const core::Coordinator& coordinator,
             core::Now now);

  store::HistoryOptions options_;
  HistorySettings settings_;
  Say warn_;
  std::unique_ptr<HistoryThread> thread_;
  history::Collector collector_;
  std::map<LeaseId, history::Session> sessions_;  // What is new of them.
  std::set<LeaseId> ended_;
  std::vector<AuditEntry> audit_;       // Not yet written.
  std::map<LeaseId, UnixMs> requeued_;  // And since then nothing was written of it.
  std::optional<Instant> sampled_at_;
  Instant write_at_ = Instant::never();  // Something is there to be written.
  std::uint64_t last_ticket_ = 0;
  struct WaitingAsk {
    HistoryAsk ask;
    Then then;
  };
  std::map<std::uint64_t, WaitingAsk> waiting_;  // By ticket: their turn is to come,
  http::FairQueue fair_queue_;                   // in this order.
  std::map<std::uint64_t, Then> asked_;          // The thread has these.
  Kept recalled_;
  bool behind_ = false;
  bool caught_up_ = false;  // With what a daemon before this one did not write.
};

}  // namespace berth::server
