// SPDX-License-Identifier: Apache-2.0
#include "sim/daemon.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::sim {

Daemon::Daemon(const Parts& parts, server::EngineSettings settings)
    : parts_(parts), settings_(std::move(settings)), accounts_(parts.devices) {
  parts_.processes.on_every_end([this](Process process) { process_ended(process); });
}

void Daemon::start(std::uint64_t boot) {
  if (engine_ != nullptr) return;
  parts_.context.note("daemon starts, boot {}", boot);
  Result<store::OpenedJournal> opened = parts_.disk.open(boot);
  if (!opened.ok()) {
    parts_.context.fail("the journal cannot be read: " + opened.error().message);
    return;
  }
  ++generation_;
  parts_.probe.forget();
  journal_ = std::move(opened->journal);
  store::Recovered& read = opened->recovered;
  std::vector<Record> records = std::move(read.snapshot);
  records.insert(records.end(), read.records.begin(), read.records.end());
  server::World& world = *this;
  server::Outbox& outbox = *this;
  engine_ = std::make_unique<server::Engine>(settings_, world, outbox);
  const core::Recovered recovered{.same_boot = read.same_boot, .safe_mode = read.safe_mode};
  parts_.checker.daemon_starts(settings_.core, recovered.same_boot);
  enter([&](core::Now now) { engine_->recover(now, records, recovered); });
  if (!running()) return;
  parts_.network.listen(*this);
}

void Daemon::asked(ConnectionId connection, server::Command ask, server::Engine::Listen listen) {
  if (auto* submit = std::get_if<core::Submit>(&ask)) {
    submit->handle = {parts_.context.random.next(), parts_.context.random.next()};
  }
  enter([&](core::Now now) {
    parts_.checker.asked(connection, ask);
    engine_->ask(now, connection, std::move(ask), listen);
  });
}

void Daemon::on_disconnect(ConnectionId connection) {
  enter([&](core::Now now) {
    parts_.checker.on_disconnect(connection);
    engine_->on_disconnect(now, connection);
  });
}

void Daemon::die() {
  if (engine_ == nullptr) return;
  dying_ = true;
  finish_death();
}

// The engine may still be on the stack when a door is its end; it is destroyed when it has
// returned.
void Daemon::finish_death() {
  parts_.context.note("daemon dies");
  parts_.checker.daemon_died();
  engine_.reset();
  journal_.reset();
  watched_.clear();
  end_movers();
  accounts_.forget();
  dying_ = false;
  calls_left_ = 0;
  ++generation_;
  parts_.network.cut_all();
  if (on_death_) on_death_();
}

void Daemon::configure(const core::Settings& settings) {
  settings_.core = settings;
  if (engine_ == nullptr) return;
  enter([&](core::Now now) {
    parts_.checker.configured(settings);
    engine_->configure(now, settings_);
  });
}

void Daemon::enter(const std::function<void(core::Now)>& entry) {
  if (engine_ == nullptr) return;
  const core::Now now = parts_.context.clock.now();
  entry(now);
  if (dying_) {
    finish_death();
    return;
  }
  parts_.checker.event_done(*engine_, now);
  plan_wake();
}

void Daemon::plan_wake() {
  const Instant wake = engine_->next_wake();
  const std::uint64_t number = ++wake_number_;
  if (wake == Instant::never()) return;
  const Duration late = parts_.context.random.between(Duration{}, milliseconds(1));
  parts_.context.clock.at(wake + late, [this, number] {
    if (number == wake_number_) enter([this](core::Now now) { engine_->on_timer(now); });
  });
}

void Daemon::process_ended(Process process) {
  if (!watched_.contains(process)) return;
  parts_.context.clock.after(parts_.context.random.spread({1'000}, milliseconds(1)),
                             [this, process, generation = generation_] {
                               if (generation != generation_ || watched_.erase(process) == 0)
                                 return;
                               enter([&](core::Now now) { engine_->process_ended(now, process); });
                             });
}

/// False: the daemon is dead, and what it was about to do does not happen.
bool Daemon::passes_call() {
  const bool is_last = calls_left_ == 1;
  if (calls_left_ > 0) --calls_left_;
  if (is_last && !dying_) {
    parts_.context.record_fault(Fault::kDaemonKilledInside);
    dying_ = true;
  }
  return !dying_;
}

Status Daemon::append(const std::vector<Record>& records) {
  if (!passes_call()) return Unit{};
  Status written = journal_->append(records);
  dying_ = dying_ || parts_.disk.take_torn();
  if (parts_.disk.wrote()) parts_.checker.wrote(records, *engine_);
  return written;
}

Status Daemon::replace(const std::vector<Record>& snapshot, std::uint64_t last_sequence) {
  if (!passes_call()) return Unit{};
  Status written = journal_->replace(snapshot, last_sequence);
  dying_ = dying_ || parts_.disk.take_torn();
  if (parts_.disk.wrote())
    parts_.checker.replaced(snapshot, last_sequence, engine_->journal_behind());
  return written;
}

bool Daemon::watch(Process process) {
  if (!passes_call()) return true;
  if (!parts_.processes.alive(process)) return false;
  watched_.insert(process);
  return true;
}

void Daemon::unwatch(Process process) {
  if (passes_call()) watched_.erase(process);
}

bool Daemon::has_ended(Process process) const {
  return !parts_.processes.alive(process);
}

bool Daemon::signal(const core::Signal& signal) {
  if (!passes_call()) return true;
  const Process process = signal.process;
  if (!watched_.contains(process) && parts_.processes.alive(process)) {
    parts_.context.fail("a signal to a process that is not watched");
  }
  parts_.context.note("signal {} to {}", signal.signal, process.pid);
  parts_.processes.signal(process, signal.signal);
  return true;
}

void Daemon::ask_probe() {
  if (!passes_call()) return;
  accounts_.question();
  parts_.probe.ask([this, generation = generation_](std::optional<Sample> sample) {
    if (generation != generation_) return;
    enter([&](core::Now now) {
      if (!sample) {
        engine_->probe_failed(now);
        return;
      }
      parts_.checker.sampled(*sample);
      engine_->sampled(now, *sample);
    });
  });
}

void Daemon::transfer(const core::Transfer& move) {
  if (!passes_call()) return;
  moving_.push_back(move);
  parts_.checker.moves(move.lease, move.number, true);
  if (move.direction == Direction::kSwapIn) parts_.checker.moves_back(move.lease, true);
  const std::uint64_t number = move.number;
  parts_.context.clock.after(
      parts_.context.random.spread(milliseconds(1), seconds(3)),
      [this, number, generation = generation_] {
        if (generation != generation_) return;
        const auto found = std::ranges::find(moving_, number, &core::Transfer::number);
        const core::Transfer due = std::move(*found);
        moving_.erase(found);
        const TransferResult result = move_now(due, false);
        parts_.checker.moves(due.lease, due.number, false);
        if (due.direction == Direction::kSwapIn) parts_.checker.moves_back(due.lease, false);
        enter([&](core::Now now) { engine_->transfer_done(now, {due.lease, due.number, result}); });
      });
}

// A mover ends with its daemon: before, in the middle of or after its work.
void Daemon::end_movers() {
  for (const core::Transfer& move : std::exchange(moving_, {})) {
    parts_.context.record_fault(Fault::kMoveCut);
    if (parts_.context.random.chance(500)) (void)move_now(move, parts_.context.random.chance(500));
  }
}

TransferResult Daemon::move_now(const core::Transfer& move, bool cut) {
  using Outcome = TransferResult::Outcome;
  if (move.direction == Direction::kFreeze || move.direction == Direction::kThaw) {
    return halt_now(move, cut);
  }
  const bool out = move.direction == Direction::kSwapOut;
  std::vector<Process> concerned;
  for (const Process& process : move.processes) {
    const bool alive = parts_.processes.alive(process);
    const bool is_one =
        out ? parts_.devices.has_memory(process) : parts_.devices.is_swapped_out(process);
    if (alive && is_one) concerned.push_back(process);
  }
  if (out && concerned.empty()) return {Outcome::kUndone, "none of its processes uses the GPU"};
  if (out && parts_.context.random.chance(parts_.plan.rate(Fault::kMoveFails))) {
    parts_.context.record_fault(Fault::kMoveFails);
    return {Outcome::kUndone, "the driver refuses"};
  }
  // To other devices it may refuse to bring them back, as long as none of them is there, and does
  // so with a process that has memory on a device that is not named.
  const bool elsewhere = !out && !move.pairs.empty() && !cut;
  const auto is_there = [&](Process process) { return parts_.devices.has_memory(process); };
  if (elsewhere && std::ranges::none_of(move.processes, is_there)) {
    const bool named = std::ranges::all_of(
        concerned, [&](Process process) { return parts_.devices.are_named(process, move.pairs); });
    const bool fails = parts_.context.random.chance(parts_.plan.rate(Fault::kMoveFails));
    if (fails) parts_.context.record_fault(Fault::kMoveFails);
    if (fails || !named) return {Outcome::kUndone, "the driver refuses"};
  }
  if (cut && concerned.size() > 1) concerned.resize(1);
  TransferResult result;
  // Now and then the driver does not tell.
  if (out && move.measure && move.number % 4 != 0) result.left = parts_.devices.uses_of(concerned);
  for (const Process& process : concerned) {
    if (out) {
      parts_.devices.move_out(process);
    } else if (const auto index = parts_.devices.move_back(process, move.pairs)) {
      parts_.checker.out_of_memory(*index);
      return {Outcome::kStuck, "a process is ruined"};
    } else {
      parts_.checker.came_back(move.lease, process);
    }
  }
  return result;
}

TransferResult Daemon::halt_now(const core::Transfer& move, bool cut) {
  bool stop = move.direction == Direction::kFreeze;
  // Then all go on, those too that were stopped before.
  const bool fails =
      stop && !cut && parts_.context.random.chance(parts_.plan.rate(Fault::kMoveFails));
  if (fails) {
    parts_.context.record_fault(Fault::kMoveFails);
    stop = false;
  }
  std::vector<Process> roots = move.processes;
  if (move.supervisor) roots.push_back(*move.supervisor);
  std::vector<Process> concerned = move.processes;
  for (const Process& root : roots) {
    for (const Process& below : parts_.processes.descendants(root)) concerned.push_back(below);
  }
  if (!stop) {
    for (const Process& known : parts_.processes.of_lease(move.handle, move.lease)) {
      concerned.push_back(known);
      std::ranges::copy(parts_.processes.descendants(known), std::back_inserter(concerned));
    }
  }
  if (cut) concerned.resize(concerned.size() / 2);
  for (const Process& process : concerned) {
    if (process == move.supervisor) continue;
    parts_.context.note("process {} is {}", process.pid, stop ? "stopped" : "let go on");
    if (stop) {
      parts_.processes.stop(process);
    } else {
      parts_.processes.go_on(process);
    }
  }
  if (fails) return {TransferResult::Outcome::kUndone, "a process cannot be stopped"};
  return {};
}

void Daemon::set_budgets(const LeaseView& lease, const std::vector<Part>& budgets,
                         Taken /*taken*/) {
  accounts_.set_budgets(lease, budgets);
}

std::vector<ChargeSample> Daemon::charges(const std::vector<Handle>& /*settling*/) {
  return accounts_.charges();
}

// What a process has charged to a lease that is over counts for that of the `berth run` which it is
// still below: one `berth run` may have asked twice, since the first answer was late.
bool Daemon::has_memory_of_others_below(const ReferenceLease& known) const {
  if (!known.supervisor) return false;
  const std::vector<Process> below = parts_.processes.descendants(*known.supervisor);
  for (std::size_t index = 0; index < parts_.devices.count(); ++index) {
    for (const Use& use : parts_.devices.at(index).uses) {
      const bool is_below = std::ranges::find(below, use.process) != below.end();
      if (is_below && use.lease != known.handle) return true;
    }
  }
  return false;
}

// Of the dead the driver knows the pid alone, and one of the lease's may have had it before. The
// sample may be as old as a probe may be slow.
bool Daemon::counts_what_others_charged(Handle lease) const {
  const ReferenceLease* known = parts_.checker.journal().find(lease);
  if (known == nullptr) return false;
  if (has_memory_of_others_below(*known)) return true;
  const Instant now = parts_.context.clock.instant();
  return std::ranges::any_of(parts_.devices.of_the_dead(now + seconds(-2)), [&](const Use& use) {
    return use.lease != lease && known->members.had_pid(use.process.pid);
  });
}

// They charge all that they take, and a driver leaves figures out, but makes none up.
void Daemon::set_unaccounted(Handle lease, const std::vector<Bytes>& bytes,
                             const std::vector<bool>& /*may_give_back*/) {
  for (const Bytes& unaccounted : bytes) {
    const bool is_sure = accounts_.charges_all(lease) && !counts_what_others_charged(lease);
    if (unaccounted == Bytes{} || !is_sure) continue;
    parts_.context.fail(fmt::format("lease {} is told of {} bytes that its programs did not charge",
                                    to_text(lease), unaccounted.value));
  }
}

void Daemon::say(const std::string& text) {
  if (passes_call()) parts_.context.note("daemon says: {}", text);
}

void Daemon::answer(ConnectionId connection, const server::Answer& answer) {
  if (!passes_call()) return;
  parts_.checker.answered(connection, answer, *engine_);
  parts_.network.answer(connection, answer);
}

void Daemon::item(ConnectionId connection, const server::Item& item) {
  if (!passes_call()) return;
  parts_.checker.on_item(connection, item, *engine_);
  parts_.network.item(connection, item);
}

bool Daemon::takes_news(ConnectionId connection) const {
  return parts_.network.takes_news(connection);
}

}  // namespace berth::sim
