// SPDX-License-Identifier: Apache-2.0
// Plans of a session: what it asks for while it waits and runs, again and again, and the harm that
// it does.
#include <csignal>
#include <utility>

#include "base/checked.h"
#include "sim/session.h"

namespace berth::sim {

void Session::give_up() {
  if (phase_ == Phase::kOver) return;
  if (phase_ == Phase::kAsking || phase_ == Phase::kWaiting) return leave({});
  ask_aside(core::Release{
      .token = {}, .actor = actor(), .lease = id_, .body = {.kill = true, .detach = true}});
}

void Session::plan_harm() {
  const auto after = [&](std::optional<Duration> delay, Fault fault, std::function<void()> harm) {
    if (!delay) return;
    env_.context.clock.after(*delay, [this, fault, harm = std::move(harm)] {
      if (env_.finishing || phase_ == Phase::kOver) return;
      env_.context.record_fault(fault);
      harm();
    });
  };
  after(plan_.hangs_up_after, Fault::kClientHangsUp, [this] {
    if (phase_ == Phase::kAsking || phase_ == Phase::kWaiting) leave({});
  });
  after(plan_.killed_after, Fault::kClientKilled, [this] {
    // A command that has not been let go yet ends with its supervisor.
    const bool ready = phase_ == Phase::kClaiming;
    leave({.code = 0, .signal = SIGKILL});
    if (ready) program_.end({.code = 0, .signal = SIGKILL});
  });
}

void Session::plan_park() {
  if (!plan_.parks_after) return;
  once(*plan_.parks_after, Phase::kWaiting, [this] {
    const auto park = [this](bool parked) {
      ask_aside(
          core::Park{.token = {}, .actor = actor(), .handle = handle_, .body = {.parked = parked}});
    };
    park(true);
    once(plan_.parked_for, Phase::kWaiting, [park] { park(false); });
  });
}

void Session::plan_release() {
  if (!plan_.released_after) return;
  env_.context.clock.after(*plan_.released_after, [this] {
    if (phase_ == Phase::kOver) return;
    ask_aside(core::Release{
        .token = {},
        .actor = actor(),
        .lease = id_,
        .body = {.kill = plan_.released_kill || plan_.released_cancel, .detach = true}});
  });
}

void Session::plan_resize() {
  if (!plan_.resizes_after || env_.finishing) return;
  once(*plan_.resizes_after, phase_, [this] {
    const ReferenceLease* lease = env_.checker.journal().find(id_);
    if (lease == nullptr || !lease->holds()) return;
    const Bytes now = lease->parts.front().budget;
    core::Resize resize{.token = {}, .actor = actor(), .lease = id_, .body = {.vram = now}};
    resize.body.wait_max = plan_.growth_wait;
    resize.body.vram = env_.context.random.between(Bytes{now.value / 2}, Bytes{now.value * 2});
    if (env_.context.random.chance(100)) resize.body.share = Share::kExclusive;
    ask_aside(resize);
    plan_resize();
  });
}

void Session::plan_save() {
  if (!plan_.saves_after || env_.finishing) return;
  once(*plan_.saves_after, phase_, [this] {
    core::AskCheckpoint ask{.token = {}, .actor = actor(), .lease = id_};
    const std::uint64_t patience = env_.context.random.below(3);
    if (patience == 0) ask.body.wait_max = Duration{};
    if (patience == 1) ask.body.wait_max = plan_.save_takes;
    ask_aside(ask);
    plan_save();
  });
}

// What is asked of it it does, in its time; what it says may come too late, or twice.
void Session::watch_saves() {
  if (!plan_.request.checkpoint || env_.finishing) return;
  once(milliseconds(200), Phase::kRunning, [this] {
    const ReferenceLease* lease = env_.checker.journal().find(id_);
    if (lease != nullptr && lease->save.number) {
      core::ReportCheckpoint report{
          .token = {}, .actor = actor(), .handle = handle_, .body = {.number = *lease->save.number}};
      if (env_.context.random.chance(500)) report.body.outcome = CheckpointOutcome::kSaved;
      once(plan_.save_takes, Phase::kRunning, [this, report] {
        perhaps_twice(report);
        ask_aside(report);
      });
    }
    watch_saves();
  });
}

// Both may be lost with a daemon: then it goes on as it was, or is asked again the next time.
void Session::plan_suspend() {
  if (!plan_.suspends_after || env_.finishing) return;
  once(*plan_.suspends_after, Phase::kRunning, [this] {
    ask_aside(core::Suspend{
        .token = {}, .actor = actor(), .lease = id_, .body = {.lasts = plan_.paused_for}});
    once(plan_.away_for, Phase::kRunning, [this] {
      ask_aside(core::Resume{.token = {}, .actor = actor(), .lease = id_});
      watch_return();
      plan_suspend();
    });
  });
}

// Anywhere: where it cannot go it is told so.
void Session::plan_move() {
  if (!plan_.moves_after || env_.finishing) return;
  once(*plan_.moves_after, Phase::kRunning, [this] {
    core::Migrate move{.token = {}, .actor = actor(), .lease = id_};
    const ReferenceLease* lease = env_.checker.journal().find(id_);
    const std::size_t count = lease == nullptr ? 1 : lease->parts.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = env_.context.random.below(env_.devices.count());
      move.body.devices.emplace_back(env_.devices.at(index).id);
    }
    ask_aside(std::move(move));
    plan_move();
  });
}

// Of an eta it tells the truth: that it was wrong.
void Session::plan_progress() {
  if (!plan_.request.eta || env_.finishing) return;
  const Duration late = milliseconds(500);
  once(*plan_.request.eta + late, Phase::kRunning, [this] {
    const Duration left = env_.context.random.between(milliseconds(1), seconds(10));
    ask_aside(core::ReportProgress{.token = {},
                                   .actor = actor(),
                                   .lease = id_,
                                   .body = {.done = 1, .total = 2, .left = left}});
    plan_progress();
  });
}

void Session::watch_return() {
  if (!plan_.released_on_return || env_.finishing) return;
  once(milliseconds(5), Phase::kRunning, [this] {
    const ReferenceLease* lease = env_.checker.journal().find(id_);
    if (lease == nullptr || !lease->is_away(ReferenceLease::Away::kSwappingIn))
      return watch_return();
    once(*plan_.released_on_return, Phase::kRunning, [this] {
      ask_aside(core::Release{.token = {},
                              .actor = actor(),
                              .lease = id_,
                              .body = {.kill = plan_.released_kill, .detach = true}});
    });
  });
}

// Who was suspended for what he used is brought back by somebody, in the end.
void Session::watch_away() {
  if (plan_.suspends_after || env_.finishing) return;
  once(milliseconds(200) + plan_.away_for, Phase::kRunning, [this] {
    const ReferenceLease* lease = env_.checker.journal().find(id_);
    if (lease != nullptr && lease->is_away(ReferenceLease::Away::kSuspended) &&
        !lease->absence.wanted_back) {
      ask_aside(core::Resume{.token = {}, .actor = actor(), .lease = id_});
    }
    watch_away();
  });
}

void Session::plan_requeue() {
  if (!plan_.requeues_after || env_.finishing) return;
  once(*plan_.requeues_after, Phase::kRunning, [this] {
    ask_aside(core::AskRequeue{.token = {},
                               .actor = actor(),
                               .lease = id_,
                               .body = {.unsaved = env_.context.random.chance(300)}});
    plan_requeue();
  });
}

// It says that it is about to stop, and does so once the daemon has written that down.
void Session::watch_requeue() {
  if (!plan_.request.requeue_grace) return;
  once(milliseconds(200), Phase::kRunning, [this] {
    const ReferenceLease* lease = env_.checker.journal().find(id_);
    const bool asked = lease != nullptr && lease->requeue.asked && !lease->save.number;
    if (asked && lease->requeue.stop_at) return stop();
    if (asked) {
      const core::BeginRequeue begin{.token = {}, .actor = actor(), .handle = handle_};
      perhaps_twice(begin);
      ask_aside(begin);
    }
    watch_requeue();
  });
}

void Session::stop() {
  stopping_ = true;
  program_.signal(SIGTERM);
  wait_until_stopped(env_.context.clock.instant() + checked(plan_.request.requeue_grace));
}

// Then it waits for its turn again.
void Session::wait_until_stopped(Instant kill_at) {
  once(milliseconds(50), Phase::kRunning, [this, kill_at] {
    if (!program_.over()) {
      if (env_.context.clock.instant() >= kill_at) program_.signal(SIGKILL);
      return wait_until_stopped(kill_at);
    }
    stopping_ = false;
    ++restarts_;
    phase_ = Phase::kWaiting;
    connect_and_ask();
  });
}

void Session::plan_freeze() {
  if (!plan_.freezes_after || env_.finishing) return;
  once(*plan_.freezes_after, Phase::kRunning, [this] {
    resume_frozen();
    freeze();
  });
}

void Session::freeze() {
  CHECK(plan_.freezes_after.has_value());
  if (env_.finishing) return;
  ask_aside(core::Freeze{
      .token = {}, .actor = actor(), .lease = id_, .body = {.lasts = plan_.paused_for}});
  once(plan_.frozen_for + *plan_.freezes_after, Phase::kRunning, [this] { freeze(); });
}

// Somebody does, in the end, whatever has become of the session: nothing goes on by itself.
void Session::resume_frozen() {
  const ReferenceLease* lease = env_.checker.journal().find(id_);
  if (lease == nullptr) return;
  if (lease->pause.frozen) {
    ask_aside(core::Resume{.token = {}, .actor = actor(), .lease = id_});
  }
  env_.context.clock.after(plan_.frozen_for, [this] { resume_frozen(); });
}

void Session::renew() {
  if (phase_ != Phase::kHolding) return;
  if (renewals_left_ == 0 || env_.finishing) {
    // Given back in time by half of them; the others expire.
    if (env_.context.random.chance(500)) {
      ask_aside(
          core::Release{.token = {}, .actor = actor(), .lease = id_, .body = {.detach = true}});
    }
    leave({});
    return;
  }
  --renewals_left_;
  const Duration ttl = checked(plan_.request.ttl);
  once({ttl.ns / 2}, Phase::kHolding, [this, ttl] {
    ask_aside(core::Renew{.token = {}, .actor = actor(), .lease = id_, .body = {.ttl = ttl}});
    renew();
  });
}

}  // namespace berth::sim
