// SPDX-License-Identifier: Apache-2.0
// For tests: an engine with a world and an outbox that write down what is done, in order, as short
// lines: "append request_queued", "answer 1 waiting 1", "item 1 granted 1", "watch 42".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "server/engine.h"

namespace berth::server {

class FakeWorld final : public World {
 public:
  explicit FakeWorld(std::vector<std::string>& trace) : trace_(trace) {}

  Status append(const std::vector<Record>& records) override {
    ++appends;
    questions_at_append = questions;
    if (full || appends == fail_append) return Error{Errc::kFull, "no space left on device"};
    std::string line = "append";
    for (const Record& record : records) {
      line += " " + std::string(name_of(record.fact));
      written.push_back(record);
      if (const auto* grant = std::get_if<LeaseGranted>(&record.fact)) granted.insert(grant->id);
    }
    trace_.push_back(line);
    return Unit{};
  }
  Status replace(const std::vector<Record>& snapshot, std::uint64_t /*last_sequence*/) override {
    if (full) return Error{Errc::kFull, "no space left on device"};
    written = snapshot;
    trace_.push_back("snapshot");
    return Unit{};
  }
  bool watch(Process process) override {
    trace_.push_back("watch " + std::to_string(process.pid));
    return !gone.contains(process);
  }
  void unwatch(Process process) override {
    trace_.push_back("unwatch " + std::to_string(process.pid));
  }
  bool has_ended(Process process) const override { return gone.contains(process); }
  bool signal(const core::Signal& signal) override {
    if (others.contains(signal.process)) return false;
    trace_.push_back("signal " + std::to_string(signal.signal) + " to " +
                     std::to_string(signal.process.pid));
    return true;
  }
  void ask_probe() override { ++questions; }
  void say(const std::string& text) override { trace_.push_back("say " + text); }

  void set_budgets(const LeaseView& lease, const std::vector<Part>& budgets,
                   Taken /*taken*/) override {
    if (!budgets.empty()) held_to[lease.handle] = budgets.front().budget;
  }

  std::vector<Record> written;
  std::map<Handle, Bytes> held_to;  // The last budget on the first device.
  std::set<LeaseId> granted;        // Whose grant was written at some time.
  std::set<Process> gone;           // Ended, and nobody was told.
  std::set<Process> others;         // Another user's.
  std::uint64_t appends = 0;
  std::uint64_t fail_append = 0;  // The n-th fails; 0: none.
  bool full = false;
  int questions = 0;
  int questions_at_append = 0;  // By the last append.

 private:
  std::vector<std::string>& trace_;
};

class FakeOutbox final : public Outbox {
 public:
  explicit FakeOutbox(std::vector<std::string>& trace) : trace_(trace) {}

  void answer(ConnectionId connection, const Answer& answer) override {
    const std::string line = "answer " + std::to_string(connection.value) + " ";
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      trace_.push_back(line + std::string(to_text(refusal->code)));
      last_message = refusal->message;
    } else {
      trace_.push_back(line + text_of(*std::get<Boxed<LeaseView>>(answer)));
      told(*std::get<Boxed<LeaseView>>(answer));
    }
  }
  void item(ConnectionId connection, const Item& item) override {
    std::string line = "item " + std::to_string(connection.value) + " " + std::string(item.event);
    if (const auto* lease = std::get_if<LeaseView>(&item.body)) {
      line += " " + std::to_string(lease->id.value);
      told(*lease);
    }
    if (!item.refusal.empty()) line += " " + std::string(to_text(item.refusal.front().code));
    if (item.number != 0) last_number = item.number;
    trace_.push_back(line + (item.last ? " last" : ""));
  }
  bool takes_news(ConnectionId connection) const override { return !stuck.contains(connection); }

  std::set<ConnectionId> stuck;
  std::set<LeaseId> told_held;  // Of which a client was told that they are held.
  std::string last_message;
  std::uint64_t last_number = 0;

 private:
  static std::string text_of(const LeaseView& lease) {
    return std::string(to_text(lease.state)) + " " + std::to_string(lease.id.value);
  }
  void told(const LeaseView& lease) {
    if (lease.state == LeaseState::kHeld) told_held.insert(lease.id);
  }
  std::vector<std::string>& trace_;
};

/// One device of 16 GiB without a reserve, and a clock that stands still.
class EngineStory {
 public:
  explicit EngineStory(EngineSettings settings = {.core = {.order = Order::kFifo, .reserve = {}},
                                                  .journal_path = "/state/leases.db"})
      : world(trace), outbox(trace), engine(std::move(settings), world, outbox) {
    engine.recover(now, {}, {});
    sample();
    trace.clear();
  }

  static Request budget(Bytes vram) { return {.vram = vram}; }
  static Process process(std::int32_t pid) { return {pid, 7}; }
  static Handle handle(std::uint64_t n) { return {1, n}; }
  static constexpr core::Actor kActor{.user = {1000}};

  /// The n-th request, from connection n.
  void submit(std::uint64_t n, Request request, Engine::Listen listen = Engine::Listen::kStream) {
    engine.ask(now, {n}, core::Submit{{}, kActor, handle(n), process(1), std::move(request)},
               listen);
  }
  void claim(std::uint64_t n, std::uint64_t connection) {
    const auto pid = static_cast<std::int32_t>(100 + n);
    engine.ask(now, {connection}, core::Claim{{}, kActor, handle(n), {process(pid)}});
  }
  void exit(std::uint64_t n, std::uint64_t connection) {
    engine.ask(now, {connection}, core::ReportExit{{}, kActor, handle(n)});
    engine.process_ended(now, process(static_cast<std::int32_t>(100 + n)));
  }
  /// `unmanaged_processes`: what processes of no lease use.
  void sample(Bytes unmanaged_processes = {}) {
    Sample sample{.asked_at = now.instant, .answered_at = now.instant, .simulated = true};
    sample.devices.push_back({.id = {0xd0, 1},
                              .model = "Simulated",
                              .capacity = gib(16),
                              .used = unmanaged_processes,
                              .figures = {.driver_reserved = Bytes{}},
                              .processes = std::vector<ProcessSample>{}});
    answered_ = world.questions;
    engine.sampled(now, sample);
  }
  /// Time goes on, the engine is woken whenever it wants to be, and its questions are answered.
  void pass(Duration time) {
    const Instant until = now.instant + time;
    while (true) {
      while (world.questions != answered_) sample();
      if (engine.next_wake() > until) break;
      advance_to(std::max(engine.next_wake(), now.instant));
      engine.on_timer(now);
    }
    advance_to(until);
  }
  /// What was done since the last call.
  std::vector<std::string> done() { return std::exchange(trace, {}); }
  LeaseState state(std::uint64_t id) {
    const std::optional<LeaseView> view = engine.coordinator().lease({id}, now);
    return checked(view).state;
  }

  std::vector<std::string> trace;
  FakeWorld world;
  FakeOutbox outbox;
  core::Now now{{1'000'000'000'000}, {1'700'000'000'000}};
  Engine engine;

 private:
  void advance_to(Instant instant) {
    now.wall.value += (instant - now.instant).ns / 1'000'000;
    now.instant = instant;
  }

  int answered_ = 0;  // Questions to the probe.
};

}  // namespace berth::server
