// SPDX-License-Identifier: Apache-2.0
#include "sim/demands.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "base/checked.h"

namespace berth::sim {
namespace {

using Away = ReferenceLease::Away;

constexpr Duration kLooksEvery = milliseconds(200);  // Of who looks what was written of a lease.

}  // namespace

void Demands::begin_waiting() const {
  if (client_.plan.parks.after) {
    client_.once(*client_.plan.parks.after, Phase::kWaiting, [this] {
      client_.ask(core::Park{.body = {.parked = true}});
      client_.once(client_.plan.parks.lasts, Phase::kWaiting,
                   [this] { client_.ask(core::Park{.body = {.parked = false}}); });
    });
  }
  hold();
  edit();
  if (!client_.plan.release.after) return;
  client_.env.context.clock.after(*client_.plan.release.after, [this] {
    if (!client_.is(Phase::kOver)) release(client_.plan.release.cancel);
  });
}

void Demands::hold() const {
  if (!client_.plan.holds.after || client_.env.finishing) return;
  client_.once(*client_.plan.holds.after, Phase::kWaiting, [this] {
    client_.ask(core::Hold{});
    client_.env.context.clock.after(client_.plan.holds.lasts, [this] { let_go(); });
  });
}

// A user does, in the end, whatever has become of the session.
void Demands::let_go() const {
  const ReferenceLease* lease = client_.lease();
  if (lease == nullptr) return;
  if (lease->place.on_hold) client_.ask(core::Hold{.body = {.off = true}});
  client_.env.context.clock.after(client_.plan.holds.lasts, [this] { let_go(); });
}

// Where the clock on the wall is set back, what starts at a time might never start.
void Demands::edit() const {
  if (!client_.plan.edits_after || client_.env.finishing) return;
  client_.once(*client_.plan.edits_after, Phase::kWaiting, [this] {
    const ReferenceLease* lease = client_.lease();
    if (lease == nullptr) return;
    const UnixMs now = client_.env.context.clock.now().wall;
    core::Edit edited{.body = draw_edit(client_.random(), lease->request, now)};
    if (!client_.plan.edits_start) edited.body.not_before.reset();
    if (edited.body != RequestEdit{}) client_.ask(edited);
    edit();
  });
}

void Demands::begin_holding() const {
  if (!client_.plan.resizes_after || client_.env.finishing) return;
  client_.once(*client_.plan.resizes_after, client_.phase, [this] {
    const ReferenceLease* lease = client_.lease();
    if (lease == nullptr || !lease->holds()) return;
    const Bytes now = lease->parts.front().budget;
    core::Resize resize{.body = {.wait_max = client_.plan.growth_wait}};
    resize.body.vram = client_.random().between(Bytes{now.value / 2}, Bytes{now.value * 2});
    if (client_.random().chance(100)) resize.body.share = Share::kExclusive;
    client_.ask(resize);
    begin_holding();
  });
}

void Demands::begin_running() const {
  const SessionPlan& plan = client_.plan;
  const auto again = [&](std::optional<Duration> delay, std::function<void()> action) {
    client_.again(delay, Phase::kRunning, std::move(action));
  };
  begin_holding();
  again(plan.messages.after, [this] { send_message(); });
  if (client_.env.plan.jobs) again(kLooksEvery, [this] { answer_message(); });
  again(plan.saves.after, [this] { ask_to_save(); });
  if (plan.request.checkpoint) again(kLooksEvery, [this] { save(); });
  suspend();
  again(plan.requeues_after, [this] {
    client_.ask(core::AskRequeue{.body = {.unsaved = client_.random().chance(300)}});
  });
  again(plan.moves_after, [this] { move(); });
  // Of an eta it tells the truth: that it was wrong.
  if (plan.request.eta) {
    again(*plan.request.eta + milliseconds(500), [this] {
      const Duration left = client_.random().between(milliseconds(1), seconds(10));
      client_.ask(core::ReportProgress{.body = {.done = 1, .total = 2, .left = left}});
    });
  }
  if (plan.freezes.after && !client_.env.finishing) {
    client_.once(*plan.freezes.after, Phase::kRunning, [this] {
      resume_frozen();
      freeze();
    });
  }
  if (!plan.suspends.after)
    again(kLooksEvery + plan.suspends.lasts, [this] { return_in_the_end(); });
}

void Demands::release(bool cancel) const {
  if (cancel) return client_.ask(core::Cancel{});
  client_.ask(core::Release{.body = {.kill = client_.plan.release.kill, .detach = true}});
}

void Demands::ask_to_save() const {
  core::AskCheckpoint ask;
  const std::uint64_t patience = client_.random().below(3);
  if (patience == 0) ask.body.wait_max = Duration{};
  if (patience == 1) ask.body.wait_max = client_.plan.saves.lasts;
  client_.ask(ask);
}

// To anybody's, its own as well.
void Demands::send_message() const {
  const auto& leases = client_.env.checker.journal().leases();
  if (leases.empty()) return;
  const auto to =
      std::next(leases.begin(), static_cast<std::ptrdiff_t>(client_.random().below(leases.size())));
  core::SendMessage send{.actor = {.user = client_.plan.user}, .lease = to->first};
  send.body.text = "may others have your GPU?";
  if (client_.random().chance(300)) {
    send.body.wait_max = client_.random().spread(milliseconds(1), seconds(5));
  }
  client_.env.network.ask_once(send, {});
}

void Demands::answer_message() const {
  const ReferenceLease* lease = client_.lease();
  if (lease == nullptr || lease->messages.count() == 0 || client_.random().chance(500)) return;
  const std::uint64_t number = lease->messages.first();
  if (!client_.random().chance(client_.plan.messages.agrees_per_mille)) {
    return client_.ask_perhaps_twice(core::RefuseMessage{.body = {.number = number}});
  }
  core::AgreeToMessage agree{.body = {.number = number}};
  if (client_.random().chance(500)) {
    agree.body.lasts = client_.random().spread(milliseconds(1), seconds(10));
  }
  client_.ask_perhaps_twice(agree);
}

// What is asked of it it does, in its time; what it says may come too late, or twice.
void Demands::save() const {
  const ReferenceLease* lease = client_.lease();
  if (lease == nullptr || !lease->save.number) return;
  core::ReportCheckpoint report{.body = {.number = *lease->save.number}};
  if (client_.random().chance(500)) report.body.outcome = CheckpointOutcome::kSaved;
  client_.once(client_.plan.saves.lasts, Phase::kRunning,
               [this, report] { client_.ask_perhaps_twice(report); });
}

// Both may be lost with a daemon: then it goes on as it was, or is asked again the next time.
void Demands::suspend() const {
  if (!client_.plan.suspends.after || client_.env.finishing) return;
  client_.once(*client_.plan.suspends.after, Phase::kRunning, [this] {
    client_.ask(core::Suspend{.body = {.lasts = client_.plan.paused_for}});
    client_.once(client_.plan.suspends.lasts, Phase::kRunning, [this] {
      client_.ask(core::Resume{});
      watch_return();
      suspend();
    });
  });
}

void Demands::watch_return() const {
  if (!client_.plan.release.on_return || client_.env.finishing) return;
  client_.once(milliseconds(5), Phase::kRunning, [this] {
    const ReferenceLease* lease = client_.lease();
    if (lease == nullptr || !lease->is_away(Away::kSwappingIn)) return watch_return();
    client_.once(*client_.plan.release.on_return, Phase::kRunning, [this] { release(false); });
  });
}

// A user brings back what was suspended for its use, in the end.
void Demands::return_in_the_end() const {
  const ReferenceLease* lease = client_.lease();
  if (lease == nullptr || !lease->is_away(Away::kSuspended) || lease->absence.wanted_back) return;
  client_.ask(core::Resume{});
}

// Anywhere: where it cannot go it is told so.
void Demands::move() const {
  core::Migrate ask;
  const ReferenceLease* lease = client_.lease();
  const std::size_t count = lease == nullptr ? 1 : lease->parts.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = client_.random().below(client_.env.devices.count());
    ask.body.devices.emplace_back(client_.env.devices.at(index).id);
  }
  client_.ask(ask);
}

void Demands::freeze() const {
  const auto& [after, lasts] = client_.plan.freezes;
  if (client_.env.finishing) return;
  client_.ask(core::Freeze{.body = {.lasts = client_.plan.paused_for}});
  client_.once(lasts + checked(after), Phase::kRunning, [this] { freeze(); });
}

// A user does, in the end, whatever has become of the session: nothing goes on by itself.
void Demands::resume_frozen() const {
  const ReferenceLease* lease = client_.lease();
  if (lease == nullptr) return;
  if (lease->pause.frozen) client_.ask(core::Resume{});
  client_.env.context.clock.after(client_.plan.freezes.lasts, [this] { resume_frozen(); });
}

}  // namespace berth::sim
