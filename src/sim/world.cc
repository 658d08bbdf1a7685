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

// What strikes from outside, at any time. The other faults happen where their cause does.
constexpr std::array kFates = {
    Fault::kDaemonKilled, Fault::kDaemonKilledInside, Fault::kPowerCut,
    Fault::kWriteTorn,    Fault::kWriteFails,         Fault::kDiskFull,
    Fault::kWallJump,     Fault::kStrangerGrows,      Fault::kDriverGone,
    Fault::kDeviceLost,   Fault::kSettingsChanged,
};

constexpr std::array kEndsOfDaemon = {
    Fault::kDaemonKilled,
    Fault::kDaemonKilledInside,
    Fault::kPowerCut,
    Fault::kWriteTorn,
};

Plan plan_for(Random& random, Duration span) {
  Plan plan = draw_plan(random);
  if (span > Duration{}) plan.sample_interval = seconds(1);
  return plan;
}

}  // namespace

bool Outcome::counts() const {
  return events >= kEventsLeast && sessions >= kSessionsLeast && coverage.faults() >= kFaultsLeast;
}

World::World(std::uint64_t seed, bool printed, Duration span)
    : stage_(seed, printed),
      plan_(plan_for(stage_.random, span)),
      processes_(stage_, plan_.rate(Fault::kPidReused)),
      devices_(stage_, processes_, plan_.devices,
               {.slow_per_mille = plan_.rate(Fault::kSlowTeardown),
                .leak_per_mille = plan_.rate(Fault::kLeak) / 10}),
      disk_(stage_),
      network_(stage_, plan_),
      probe_(stage_, plan_, devices_),
      judge_(stage_, devices_, processes_, disk_),
      daemon_({stage_, processes_, network_, probe_, disk_, judge_, devices_, plan_},
              {.core = plan_.settings,
               .sample_interval = plan_.sample_interval,
               .journal_path = "sim"}),
      scene_{stage_, plan_, processes_, devices_, network_, judge_},
      span_(span) {
  if (span_.is_long()) begin_far_on();
}

Outcome World::run() {
  // Whatever ends the daemon, somebody starts it again.
  daemon_.on_death([this] {
    stage_.clock.after(stage_.random.spread(milliseconds(1), seconds(3)),
                       [this] { daemon_.start(boot_); });
  });
  daemon_.start(boot_);
  if (span_.is_long()) {
    measure();
    spell_begins();
  }
  session_arrives();
  fate_strikes();
  while (!stage_.failed() && !has_seen_enough()) stage_.clock.step();
  if (!stage_.failed()) {
    calm_down();
    settle();
  }
  const std::string grown = span_.is_long() ? span_.broken_by_growth() : std::string();
  if (!grown.empty()) stage_.fail(grown);
  Outcome outcome{.broken = stage_.broken(),
                  .events = judge_.events(),
                  .sessions = sessions_.size(),
                  .trace_hash = stage_.trace_hash(),
                  .journal_hash = stage_.journal_hash(),
                  .coverage = stage_.coverage,
                  .kept = span_.least()};
  return outcome;
}

bool World::has_seen_enough() const {
  return judge_.events() >= kEventsLeast && sessions_.size() >= kSessionsLeast &&
         stage_.coverage.faults() >= kFaultsLeast && span_.is_over(stage_.clock.elapsed());
}

// As on a machine that has run for years; the numbers stay below what JSON can tell exactly.
void World::begin_far_on() {
  const std::uint64_t next_id = (1ULL << 40U) + stage_.random.below(1U << 30U);
  const std::uint64_t sequence = (1ULL << 50U) + stage_.random.below(1U << 30U);
  Result<store::OpenedJournal> opened = disk_.open(boot_);
  CHECK(opened.ok());
  const Record counters{
      .sequence = 0, .at = {}, .wall = {}, .fact = CountersRestored{next_id, sequence}};
  CHECK(opened->journal->replace(std::vector{counters}, sequence).ok());
  judge_.audit_every(kAuditEveryFarOn);
}

void World::measure() {
  stage_.clock.after(span_.measured_every(), [this] {
    if (const server::Engine* engine = daemon_.engine()) {
      const size_t kept = Span::kept_by(engine->coordinator(), stage_.clock.now());
      span_.measured(stage_.clock.elapsed(), kept);
    }
    measure();
  });
}

void World::spell_begins() {
  stage_.clock.after(stage_.random.spread(seconds(10), seconds(90)), [this] { spell_ends(); });
}

void World::spell_ends() {
  const Duration quiet = stage_.random.between(minutes(5), minutes(55));
  quiet_until_ = stage_.clock.elapsed() + quiet;
  stage_.clock.after(quiet, [this] { spell_begins(); });
  send_home();
}

// Nobody stays through a quiet hour; again and again, for a call may be lost with a daemon.
void World::send_home() {
  stage_.clock.after(minutes(1), [this] {
    if (scene_.hurry || stage_.clock.elapsed() >= quiet_until_) return;
    for (std::size_t i = first_live_; i < sessions_.size(); ++i) sessions_[i]->give_up();
    send_home();
  });
}

Duration World::until_next(Duration least, Duration most) {
  const Duration quiet{std::max<std::int64_t>(0, quiet_until_.ns - stage_.clock.elapsed().ns)};
  return quiet + stage_.random.spread(least, most);
}

void World::session_arrives() {
  if (scene_.hurry) return;
  stage_.clock.after(until_next(milliseconds(1), plan_.arrival_max), [this] { session_arrives(); });
  while (first_live_ < sessions_.size() && sessions_[first_live_]->over()) ++first_live_;
  const auto live =
      std::count_if(sessions_.begin() + static_cast<std::ptrdiff_t>(first_live_), sessions_.end(),
                    [](const auto& session) { return !session->over(); });
  if (static_cast<std::size_t>(live) < plan_.sessions_at_once) begin_session();
}

// Some run inside of another's program, and some of these ask for a lease of their own.
void World::begin_session() {
  SessionPlan plan = draw_session(stage_.random, plan_);
  std::optional<Process> parent;
  if (stage_.random.chance(100)) {
    for (std::size_t i = first_live_; i < sessions_.size() && !parent; ++i) {
      const Program* program = sessions_[i]->program();
      if (program == nullptr || !processes_.alive(program->command())) continue;
      parent = program->command();
      plan.user = sessions_[i]->user();
      plan.request.ancestors = sessions_[i]->ancestors();
      plan.request.ancestors.insert(plan.request.ancestors.begin(), sessions_[i]->lease());
    }
  }
  stage_.note("session {} arrives", sessions_.size());
  sessions_.push_back(std::make_unique<Session>(scene_, std::move(plan)));
  sessions_.back()->start(parent);
}

void World::fate_strikes() {
  if (scene_.hurry) return;
  stage_.clock.after(until_next(milliseconds(10), seconds(2)), [this] { fate_strikes(); });
  const Fault fault = kFates[stage_.random.below(kFates.size())];
  if (stage_.random.chance(plan_.rate(fault) * 3)) strike(fault);
}

void World::strike(Fault fault) {
  const bool is_end = std::ranges::find(kEndsOfDaemon, fault) != kEndsOfDaemon.end();
  if (is_end && !span_.daemon_may_end(stage_.clock.elapsed())) return;
  switch (fault) {
    case Fault::kDaemonKilled:
      if (!daemon_.running()) return;
      stage_.deal(fault);
      daemon_.die();
      break;
    case Fault::kDaemonKilledInside:
      daemon_.die_at_door(1 + stage_.random.below(200));
      break;
    case Fault::kWriteTorn:
      disk_.tear_next();
      break;
    case Fault::kWriteFails:
      disk_.fail_next();
      break;
    case Fault::kPowerCut:
      if (stage_.random.chance(200)) cut_power();
      break;
    case Fault::kDiskFull:
      fill_disk();
      break;
    case Fault::kWallJump:
      stage_.deal(fault);
      stage_.clock.jump_wall(static_cast<std::int64_t>(stage_.random.below(20'000'000)) -
                             10'000'000);
      break;
    case Fault::kStrangerGrows:
      stranger_comes();
      break;
    case Fault::kDriverGone:
      lose_driver();
      break;
    case Fault::kDeviceLost:
      lose_device();
      break;
    default: {
      stage_.deal(Fault::kSettingsChanged);
      core::Settings settings = draw_settings(stage_.random, plan_.devices);
      settings.unmanaged = plan_.settings.unmanaged;
      daemon_.configure(settings);
      break;
    }
  }
}

void World::cut_power() {
  stage_.deal(Fault::kPowerCut);
  daemon_.die();
  processes_.power_cut();
  devices_.power_cut();
  for (const auto& session : sessions_) session->power_cut();
  strangers_.clear();
  stage_.clock.reboot();
  ++boot_;
}

void World::fill_disk() {
  stage_.deal(Fault::kDiskFull);
  disk_.set_full(true);
  stage_.clock.after(stage_.random.spread(milliseconds(10), seconds(10)),
                     [this] { disk_.set_full(false); });
}

void World::lose_driver() {
  stage_.deal(Fault::kDriverGone);
  probe_.set_driver_gone(true);
  stage_.clock.after(stage_.random.spread(milliseconds(10), seconds(10)),
                     [this] { probe_.set_driver_gone(false); });
}

void World::lose_device() {
  const std::size_t index = stage_.random.below(devices_.count());
  if (devices_.at(index).lost) return;
  stage_.deal(Fault::kDeviceLost);
  devices_.lose(index);
  stage_.clock.after(stage_.random.spread(milliseconds(10), seconds(20)), [this, index] {
    if (devices_.at(index).lost) devices_.find_again(index);
  });
}

void World::stranger_comes() {
  const std::size_t index = stage_.random.below(devices_.count());
  const Process stranger = processes_.spawn(
      {.parent = {}, .user = {2'000}, .name = "stranger", .lease = std::nullopt, .on_end = {}});
  const Bytes most{devices_.at(index).capacity.value / (stage_.random.chance(300) ? 2 : 16)};
  if (devices_.allocate(stranger, index, stage_.random.between(mib(1), most))) {
    stage_.deal(Fault::kStrangerGrows);
  }
  strangers_.push_back(stranger);
  stage_.clock.after(stage_.random.spread(milliseconds(10), seconds(20)),
                     [this, stranger] { processes_.end(stranger, {}); });
}

// From here on nothing goes wrong any more, and everybody finishes.
void World::calm_down() {
  stage_.note("calm");
  scene_.hurry = true;
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
  for (const Process& stranger : strangers_) processes_.end(stranger, {});
  hurry();
}

// Again and again: a call may have been lost with a daemon.
void World::hurry() {
  for (const auto& session : sessions_) session->hurry();
  stage_.clock.after(seconds(5), [this] { hurry(); });
}

bool World::is_over() const {
  return std::ranges::all_of(sessions_, [](const auto& session) { return session->over(); }) &&
         judge_.journal().leases().empty();
}

// Whoever waits starts within the sum of the times of those ahead of him, and pass_max. Each of
// these now takes no longer than its ttl or, where it is revoked and does not listen, its SIGKILL.
void World::settle() {
  const auto live =
      std::ranges::count_if(sessions_, [](const auto& session) { return !session->over(); });
  const auto leases = static_cast<std::int64_t>(judge_.journal().leases().size());
  const Duration each = limits::kKillAfter + seconds(5);
  const Duration bound =
      Duration{(live + leases) * each.ns} + daemon_.settings().pass_max + limits::kReleasingMax;
  const Instant until = stage_.clock.instant() + bound;
  while (!stage_.failed() && !is_over()) {
    while (!stage_.failed() && !is_over()) {
      if (stage_.clock.instant() > until) {
        stage_.fail(fmt::format("{} s after the last fault not everybody has had a turn: {}",
                                bound.ns / seconds(1).ns, told_waiting()));
        return;
      }
      if (!stage_.clock.step()) return;
    }
    // What was sent last, by somebody who has gone since, still arrives and may begin a lease.
    const Instant end = stage_.clock.instant() + seconds(4);
    while (!stage_.failed() && stage_.clock.instant() < end && stage_.clock.step()) {
    }
  }
  if (!stage_.failed() && daemon_.engine() != nullptr) judge_.all_over(*daemon_.engine());
}

std::string World::told_waiting() const {
  std::string text;
  for (const auto& [id, lease] : judge_.journal().leases()) {
    text += "<" + lease.told() + "> ";
    const server::Engine* engine = daemon_.engine();
    if (engine == nullptr) continue;
    const std::optional<WhyView> why = engine->coordinator().why(id, stage_.clock.now());
    if (why) text += fmt::format("({}) ", to_text(why->reason));
  }
  for (const auto& session : sessions_) {
    if (!session->over()) text += session->told() + " ";
  }
  return text;
}

}  // namespace berth::sim
