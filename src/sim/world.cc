// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "core/limits.h"

namespace berth::sim {
namespace {

constexpr std::uint64_t kEventsLeast = 2'000;
constexpr std::uint64_t kSessionsLeast = 8;
constexpr std::uint64_t kFaultsLeast = 20;
constexpr std::uint64_t kAuditEveryFarOn = 5'000;  // Events.

// Machines up to this seed are as they were before there was the order `value`, requests could be
// edited, and there were jobs; and with them what tests/baseline has of them.
constexpr std::uint64_t kSeedsBeforeValue = 10'000;
constexpr std::uint64_t kOneIsByValueOf = 4;

bool is_by_value(std::uint64_t seed) {
  return seed > kSeedsBeforeValue && seed % kOneIsByValueOf == 0;
}

Plan plan_for(Random& random, std::uint64_t seed, Duration span) {
  Plan plan = draw_plan(random);
  if (is_by_value(seed)) plan.settings.order = Order::kValue;
  plan.jobs = seed > kSeedsBeforeValue;
  if (span > Duration{}) plan.sample_interval = seconds(1);
  return plan;
}

}  // namespace

bool Outcome::counts() const {
  return events >= kEventsLeast && sessions >= kSessionsLeast && coverage.faults() >= kFaultsLeast;
}

World::World(std::uint64_t seed, bool printed, Duration span)
    : seed_(seed),
      context_(seed, printed),
      plan_(plan_for(context_.random, seed, span)),
      processes_(context_, plan_.rate(Fault::kPidReused)),
      devices_(context_, processes_, plan_.devices,
               {.slow_per_mille = plan_.rate(Fault::kSlowTeardown),
                .leak_per_mille = plan_.rate(Fault::kLeak) / 10}),
      disk_(context_),
      network_(context_, plan_),
      probe_(context_, plan_, devices_),
      checker_(context_, devices_, processes_, disk_),
      daemon_({context_, processes_, network_, probe_, disk_, checker_, devices_, plan_},
              {.core = plan_.settings,
               .sample_interval = plan_.sample_interval,
               .journal_path = "sim"}),
      env_{context_, plan_, processes_, devices_, network_, checker_},
      span_(span) {
  if (span_.is_long()) begin_far_on();
}

Outcome World::run() {
  // Whatever ends the daemon, it is started again.
  daemon_.on_death([this] {
    context_.clock.after(context_.random.spread(milliseconds(1), seconds(3)),
                         [this] { daemon_.start(boot_); });
  });
  daemon_.start(boot_);
  if (span_.is_long()) {
    measure();
    spell_begins();
  }
  session_arrives();
  fate_strikes();
  while (!context_.failed() && !has_seen_enough()) context_.clock.step();
  if (!context_.failed()) {
    quiesce();
    settle();
  }
  const std::string grown = span_.is_long() ? span_.check_growth() : std::string();
  if (!grown.empty()) context_.fail(grown);
  Outcome outcome{.broken = context_.broken(),
                  .events = checker_.events(),
                  .sessions = sessions_.size(),
                  .has_jobs = plan_.jobs,
                  .trace_hash = context_.trace_hash(),
                  .journal_hash = context_.journal_hash(),
                  .coverage = context_.coverage,
                  .kept = span_.least()};
  return outcome;
}

bool World::has_seen_enough() const {
  return checker_.events() >= kEventsLeast && sessions_.size() >= kSessionsLeast &&
         context_.coverage.faults() >= kFaultsLeast && span_.is_over(context_.clock.elapsed());
}

// As on a machine that has run for years; the numbers stay below what JSON can tell exactly.
void World::begin_far_on() {
  const std::uint64_t next_id = (1ULL << 40U) + context_.random.below(1U << 30U);
  const std::uint64_t sequence = (1ULL << 50U) + context_.random.below(1U << 30U);
  Result<store::OpenedJournal> opened = disk_.open(boot_);
  CHECK(opened.ok());
  const Record counters{
      .sequence = 0, .at = {}, .wall = {}, .fact = CountersRestored{next_id, sequence}};
  CHECK(opened->journal->replace(std::vector{counters}, sequence).ok());
  checker_.audit_every(kAuditEveryFarOn);
}

void World::measure() {
  context_.clock.after(span_.measured_every(), [this] {
    if (const server::Engine* engine = daemon_.engine()) {
      const size_t kept = Span::kept_by(engine->coordinator(), context_.clock.now());
      span_.measured(context_.clock.elapsed(), kept);
    }
    measure();
  });
}

void World::spell_begins() {
  context_.clock.after(context_.random.spread(seconds(10), seconds(90)), [this] { spell_ends(); });
}

void World::spell_ends() {
  const Duration quiet = context_.random.between(minutes(5), minutes(55));
  quiet_until_ = context_.clock.elapsed() + quiet;
  context_.clock.after(quiet, [this] { spell_begins(); });
  send_home();
}

// Nobody stays through a quiet hour; again and again, for a call may be lost with a daemon.
void World::send_home() {
  context_.clock.after(minutes(1), [this] {
    if (env_.finishing || context_.clock.elapsed() >= quiet_until_) return;
    for (std::size_t i = first_live_; i < sessions_.size(); ++i) sessions_[i]->give_up();
    send_home();
  });
}

Duration World::until_next(Duration least, Duration most) {
  const Duration quiet{std::max<std::int64_t>(0, quiet_until_.ns - context_.clock.elapsed().ns)};
  return quiet + context_.random.spread(least, most);
}

void World::session_arrives() {
  if (env_.finishing) return;
  context_.clock.after(until_next(milliseconds(1), plan_.arrival_max),
                       [this] { session_arrives(); });
  while (first_live_ < sessions_.size() && sessions_[first_live_]->over()) ++first_live_;
  const auto live =
      std::count_if(sessions_.begin() + static_cast<std::ptrdiff_t>(first_live_), sessions_.end(),
                    [](const auto& session) { return !session->over(); });
  if (static_cast<std::size_t>(live) < plan_.sessions_at_once) begin_session();
}

// Some run inside of another's program, and some of these ask for a lease of their own.
void World::begin_session() {
  SessionPlan plan = draw_session(context_.random, plan_);
  std::optional<Process> parent;
  if (context_.random.chance(100) && !plan.job.is_one) {
    for (std::size_t i = first_live_; i < sessions_.size() && !parent; ++i) {
      const Program* program = sessions_[i]->program();
      if (program == nullptr || !processes_.alive(program->command())) continue;
      parent = program->command();
      plan.user = sessions_[i]->user();
      plan.request.ancestors = sessions_[i]->ancestors();
      plan.request.ancestors.insert(plan.request.ancestors.begin(), sessions_[i]->lease());
    }
  }
  context_.note("session {} arrives", sessions_.size());
  sessions_.push_back(std::make_unique<Session>(env_, std::move(plan)));
  sessions_.back()->start(parent);
}

// What strikes from outside, at any time. The other faults happen where their cause does.
struct World::Fate {
  Fault fault;
  void (*strike)(World& world);
  bool ends_daemon = false;
};

void World::fate_strikes() {
  static constexpr std::array kFates = {
      Fate{Fault::kDaemonKilled, [](World& world) { world.kill_daemon(); }, true},
      Fate{Fault::kDaemonKilledInside,
           [](World& world) { world.daemon_.die_at_door(1 + world.context_.random.below(200)); },
           true},
      Fate{Fault::kPowerCut, [](World& world) { world.perhaps_cut_power(); }, true},
      Fate{Fault::kWriteTorn, [](World& world) { world.disk_.tear_next(); }, true},
      Fate{Fault::kWriteFails, [](World& world) { world.disk_.fail_next(); }},
      Fate{Fault::kDiskFull, [](World& world) { world.fill_disk(); }},
      Fate{Fault::kWallJump, [](World& world) { world.jump_wall(); }},
      Fate{Fault::kUnmanagedGrows, [](World& world) { world.unmanaged_starts(); }},
      Fate{Fault::kDriverGone, [](World& world) { world.lose_driver(); }},
      Fate{Fault::kDeviceLost, [](World& world) { world.lose_device(); }},
      Fate{Fault::kSettingsChanged, [](World& world) { world.change_settings(); }},
  };
  if (env_.finishing) return;
  context_.clock.after(until_next(milliseconds(10), seconds(2)), [this] { fate_strikes(); });
  const Fate& fate = kFates[context_.random.below(kFates.size())];
  if (!context_.random.chance(plan_.rate(fate.fault) * 3)) return;
  if (!fate.ends_daemon || span_.daemon_may_end(context_.clock.elapsed())) fate.strike(*this);
}

void World::kill_daemon() {
  if (!daemon_.running()) return;
  context_.record_fault(Fault::kDaemonKilled);
  daemon_.die();
}

void World::jump_wall() {
  context_.record_fault(Fault::kWallJump);
  context_.clock.jump_wall(static_cast<std::int64_t>(context_.random.below(20'000'000)) -
                           10'000'000);
}

void World::change_settings() {
  context_.record_fault(Fault::kSettingsChanged);
  core::Settings settings = draw_settings(context_.random, plan_.devices);
  settings.unmanaged = plan_.settings.unmanaged;
  // Every other time: the order changes to it, and from it.
  if (is_by_value(seed_) && ++settings_changed_ % 2 == 0) settings.order = Order::kValue;
  daemon_.configure(settings);
}

void World::perhaps_cut_power() {
  if (!context_.random.chance(200)) return;
  context_.record_fault(Fault::kPowerCut);
  daemon_.die();
  processes_.power_cut();
  devices_.power_cut();
  for (const auto& session : sessions_) session->power_cut();
  unmanaged_.clear();
  context_.clock.reboot();
  ++boot_;
}

void World::fill_disk() {
  context_.record_fault(Fault::kDiskFull);
  disk_.set_full(true);
  context_.clock.after(context_.random.spread(milliseconds(10), seconds(10)),
                       [this] { disk_.set_full(false); });
}

void World::lose_driver() {
  context_.record_fault(Fault::kDriverGone);
  probe_.set_driver_gone(true);
  context_.clock.after(context_.random.spread(milliseconds(10), seconds(10)),
                       [this] { probe_.set_driver_gone(false); });
}

void World::lose_device() {
  const std::size_t index = context_.random.below(devices_.count());
  if (devices_.at(index).lost) return;
  context_.record_fault(Fault::kDeviceLost);
  devices_.lose(index);
  context_.clock.after(context_.random.spread(milliseconds(10), seconds(20)), [this, index] {
    if (devices_.at(index).lost) devices_.find_again(index);
  });
}

void World::unmanaged_starts() {
  const std::size_t index = context_.random.below(devices_.count());
  const Process unmanaged_process = processes_.spawn(
      {.parent = {}, .user = {2'000}, .name = "unmanaged", .lease = std::nullopt, .on_end = {}});
  const Bytes most{devices_.at(index).capacity.value / (context_.random.chance(300) ? 2 : 16)};
  if (devices_.allocate(unmanaged_process, index, context_.random.between(mib(1), most))) {
    context_.record_fault(Fault::kUnmanagedGrows);
  }
  unmanaged_.push_back(unmanaged_process);
  context_.clock.after(context_.random.spread(milliseconds(10), seconds(20)),
                       [this, unmanaged_process] { processes_.end(unmanaged_process, {}); });
}

// From here on nothing goes wrong any more, and everybody finishes.
void World::quiesce() {
  context_.note("calm");
  env_.finishing = true;
  network_.calm();
  probe_.calm();
  disk_.calm();
  devices_.calm();
  daemon_.die_at_door(0);
  // What was asked for under other settings must be able to fit.
  core::Settings settings = daemon_.settings();
  settings.reserve = {};
  settings.device_reserve.clear();
  settings.limits_default = {};
  daemon_.configure(settings);
  for (const Process& unmanaged_process : unmanaged_) processes_.end(unmanaged_process, {});
  finishing();
}

// Again and again: a call may have been lost with a daemon.
void World::finishing() {
  for (const auto& session : sessions_) session->finishing();
  context_.clock.after(seconds(5), [this] { finishing(); });
}

bool World::is_over() const {
  return std::ranges::all_of(sessions_, [](const auto& session) { return session->over(); }) &&
         checker_.journal().leases().empty();
}

// A request starts within the sum of the times of those ahead of it, and pass_max. Each of
// these now takes no longer than its ttl or, where it is revoked and does not listen, its SIGKILL.
void World::settle() {
  const auto live =
      std::ranges::count_if(sessions_, [](const auto& session) { return !session->over(); });
  const auto leases = static_cast<std::int64_t>(checker_.journal().leases().size());
  const Duration each = limits::kKillAfter + seconds(5);
  const Duration bound =
      Duration{(live + leases) * each.ns} + daemon_.settings().pass_max + limits::kReleasingMax;
  const Instant until = context_.clock.instant() + bound;
  while (!context_.failed() && !is_over()) {
    while (!context_.failed() && !is_over()) {
      if (context_.clock.instant() > until) {
        context_.fail(fmt::format("{} s after the last fault not everybody has had a turn: {}",
                                  bound.ns / seconds(1).ns, told_waiting()));
        return;
      }
      if (!context_.clock.step()) return;
    }
    // What was sent last, by a client that has gone since, still arrives and may begin a lease.
    const Instant end = context_.clock.instant() + seconds(4);
    while (!context_.failed() && context_.clock.instant() < end && context_.clock.step()) {
    }
  }
  if (!context_.failed() && daemon_.engine() != nullptr) checker_.all_over(*daemon_.engine());
}

std::string World::told_waiting() const {
  std::string text;
  for (const auto& [id, lease] : checker_.journal().leases()) {
    text += "<" + lease.describe() + "> ";
    const server::Engine* engine = daemon_.engine();
    if (engine == nullptr) continue;
    const std::optional<WhyView> why = engine->coordinator().why(id, context_.clock.now());
    if (why) text += fmt::format("({}) ", to_text(why->reason));
  }
  for (const auto& session : sessions_) {
    if (!session->over()) text += session->describe() + " ";
  }
  return text;
}

}  // namespace berth::sim
