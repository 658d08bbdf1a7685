// SPDX-License-Identifier: Apache-2.0
// The daemon of a simulated world: the real engine with its coordinator, behind doors that the seed
// can make fail, and that can be its end between any two of them. Everything that enters or leaves
// the engine passes here, and the judge sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/device.h"
#include "model/record.h"
#include "server/engine.h"
#include "server/ports.h"
#include "sim/accounts.h"
#include "sim/context.h"
#include "sim/disk.h"
#include "sim/invariant_checker.h"
#include "sim/network.h"
#include "sim/plan.h"
#include "sim/probe.h"
#include "sim/processes.h"
#include "store/journal.h"

namespace berth::sim {

class Daemon final : private server::World, private server::Outbox, private Gate {
 public:
  struct Parts {
    SimContext& context;
    Processes& processes;
    Network& network;
    Probe& probe;
    Disk& disk;
    InvariantChecker& checker;
    Devices& devices;
    const Plan& plan;
  };
  Daemon(const Parts& parts, server::EngineSettings settings);

  /// Reads the disk and recovers. `boot` counts the machine's starts.
  void start(std::uint64_t boot);
  /// kill -9, between two events.
  void die();
  /// kill -9 when it uses one of its doors for the n-th time from now.
  void die_at_door(std::uint64_t door) { calls_left_ = door; }
  bool running() const { return engine_ != nullptr; }
  void on_death(std::function<void()> hook) { on_death_ = std::move(hook); }

  void configure(const core::Settings& settings);
  const core::Settings& settings() const { return settings_.core; }
  /// Null while it does not run.
  const server::Engine* engine() const { return engine_.get(); }

 private:
  Status append(const std::vector<Record>& records) override;
  Status replace(const std::vector<Record>& snapshot, std::uint64_t last_sequence) override;
  bool watch(Process process) override;
  void unwatch(Process process) override;
  bool has_ended(Process process) const override;
  bool signal(const core::Signal& signal) override;
  void ask_probe() override;
  void transfer(const core::Transfer& move) override;
  void set_budgets(const LeaseView& lease, const std::vector<Part>& budgets, Taken taken) override;
  void set_unaccounted(Handle lease, const std::vector<Bytes>& bytes,
                       const std::vector<bool>& may_give_back) override;
  std::vector<ChargeSample> charges(const std::vector<Handle>& settling) override;
  void say(const std::string& text) override;
  void answer(ConnectionId connection, const server::Answer& answer) override;
  void item(ConnectionId connection, const server::Item& item) override;
  bool takes_news(ConnectionId connection) const override;
  void asked(ConnectionId connection, server::Command ask, server::Engine::Listen listen) override;
  void on_disconnect(ConnectionId connection) override;
  bool counts_what_others_charged(Handle lease) const;
  bool has_memory_of_others_below(const ReferenceLease& known) const;

  void enter(const std::function<void(core::Now)>& entry);
  bool passes_call();
  void plan_wake();
  void finish_death();
  TransferResult move_now(const core::Transfer& move, bool cut);
  TransferResult halt_now(const core::Transfer& move, bool cut);
  void end_movers();
  void process_ended(Process process);

  Parts parts_;
  server::EngineSettings settings_;
  std::unique_ptr<store::Journal> journal_;
  std::unique_ptr<server::Engine> engine_;
  std::uint64_t generation_ = 0;  // Of daemons: what was planned for a dead one does not happen.
  std::uint64_t wake_number_ = 0;
  std::uint64_t calls_left_ = 0;  // 0: no death is planned.
  bool dying_ = false;            // It has been killed: nothing that it does reaches the world.
  std::set<Process> watched_;
  std::vector<core::Transfer> moving_;
  Accounts accounts_;
  std::function<void()> on_death_;
};

}  // namespace berth::sim
