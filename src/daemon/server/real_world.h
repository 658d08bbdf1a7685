// SPDX-License-Identifier: Apache-2.0
// The engine's world as it is: the journal on disk, processes by pidfd, the probe and the log.
// The event loop's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "os/clock.h"
#include "server/alert_service.h"
#include "server/budget_files.h"
#include "server/device_claims.h"
#include "server/gpu_job_files.h"
#include "server/history_recorder.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/mover_runner.h"
#include "server/ports.h"
#include "server/probe_runner.h"
#include "server/process_watcher.h"
#include "store/journal.h"

namespace berth::server {

class RealWorld final : public World {
 public:
  struct Parts {
    store::Journal& journal;
    ProcessWatcher& processes;
    ProbeRunner& probe;
    BudgetFiles& files;
    DeviceClaims& claims;
    HistoryRecorder& history;
    AlertService& alerts;
    MoverRunner& mover;
    const os::Clock& clock;
    std::function<void(const AuditEntry&)> happened;  // With its reason in words.
    std::string leases_directory;
    std::string gpu_jobs_directory;
    const std::map<UserId, std::string>& user_names;
    Log& log;
  };
  explicit RealWorld(const Parts& parts)
      : parts_(parts), job_files_(parts.gpu_jobs_directory, [this](const std::string& text) {
          parts_.log.warn(text);
        }) {}

  Status append(const std::vector<Record>& records) override;
  Status replace(const std::vector<Record>& snapshot, std::uint64_t last_sequence) override {
    return parts_.journal.replace(snapshot, last_sequence);
  }
  bool watch(Process process) override { return parts_.processes.watch(process); }
  void unwatch(Process process) override { parts_.processes.unwatch(process); }
  bool has_ended(Process process) const override { return !parts_.processes.is_alive(process); }
  bool signal(const core::Signal& signal) override;
  void ask_probe() override;
  void say(const std::string& text) override { parts_.log.info(text); }
  void set_budgets(const LeaseView& lease, const std::vector<Part>& budgets, Taken taken) override;
  void on_lease_event(core::Now now, const core::Coordinator& coordinator,
                      const core::Notify& news) override {
    parts_.alerts.on_lease_event(now, coordinator, news);
    // By the clock, not by the step's moment: a hand-over takes less than that differs.
    metrics_.on_lease_event({.instant = parts_.clock.now(), .wall = now.wall}, coordinator, news);
    if (job_files_.are_kept()) job_files_.keep(coordinator.devices(now));
  }
  void did(const AuditEntry& entry) override;
  void on_audit(core::Now now, const core::Coordinator& coordinator,
                const AuditEntry& entry) override {
    parts_.alerts.on_audit(now, coordinator, entry);
  }
  void transfer(const core::Transfer& move) override {
    parts_.mover.move(move, parts_.leases_directory + "/" + to_text(move.handle));
  }
  void pause(Handle lease, Paused paused) override {
    parts_.files.pause(lease, {.away = paused.away, .frozen = paused.frozen});
  }
  void set_unaccounted(Handle lease, const std::vector<Bytes>& bytes,
                       const std::vector<bool>& may_give_back) override {
    parts_.files.set_unaccounted(lease, bytes, may_give_back);
  }
  void withhold(core::Now now, Sample& sample) override {
    parts_.claims.apply(now.instant, sample);
  }
  std::vector<ChargeSample> charges(const std::vector<Handle>& settling) override {
    return parts_.files.charges(settling);
  }
  std::vector<ContextSample> context_costs(const Sample& sample) override {
    return parts_.files.learn(sample);
  }
  void settle_dead(const Sample& sample) override { parts_.files.settle_dead(sample); }
  Instant ask_again_at() const override { return parts_.files.ask_again_at(); }

  const Metrics& metrics() const { return metrics_; }

 private:
  Parts parts_;
  Metrics metrics_;
  GpuJobFiles job_files_;
};

}  // namespace berth::server
