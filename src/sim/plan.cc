// SPDX-License-Identifier: Apache-2.0
#include "sim/plan.h"

#include <algorithm>
#include <string>

#include "base/ids.h"

namespace berth::sim {
namespace {

constexpr std::uint32_t kAllSlices = 1000;
constexpr std::uint32_t kFirstUser = 1'000;
constexpr Bytes kLeastEdited = mib(600);  // More than a context takes.

DeviceId draw_device_id(Random& random) {
  return {.high = random.next(), .low = random.next(), .mig = false};
}

std::vector<Device> draw_devices(Random& random) {
  const std::vector<std::size_t> counts = {1, 1, 1, 2, 3, 4};
  const std::vector<Bytes> capacities = {gib(8), gib(16), gib(16), gib(24)};
  const bool one_model = random.chance(700);
  Bytes capacity = random.pick(capacities);
  std::vector<Device> devices;
  for (std::size_t i = random.pick(counts); i > 0; --i) {
    if (!one_model) capacity = random.pick(capacities);
    devices.push_back({.id = draw_device_id(random),
                       .model = "sim-" + std::to_string(capacity.value >> 30U),
                       .capacity = capacity,
                       .figures = {},
                       .uses = {}});
    if (random.chance(300))
      devices.back().figures.driver_reserved = random.between(mib(100), mib(700));
  }
  return devices;
}

std::optional<Duration> perhaps(Random& random, std::uint32_t per_mille, Duration from,
                                Duration to) {
  if (!random.chance(per_mille)) return std::nullopt;
  return random.spread(from, to);
}

Bytes draw_vram(Random& random, const Plan& plan) {
  const Bytes capacity = random.pick(plan.devices).capacity;
  if (random.chance(20)) return capacity + mib(1);  // Larger than what there is.
  const std::vector<std::uint64_t> divisors = {16, 8, 4, 4, 3, 2, 2};
  const Bytes about{capacity.value / random.pick(divisors)};
  return {random.between(Bytes{about.value / 2}, about).value & ~(mib(1).value - 1)};
}

Request draw_request(Random& random, const Plan& plan) {
  Request request;
  if (random.chance(300)) request.session = "s" + std::to_string(random.below(3));
  const std::vector<Priority> priorities = {Priority::kLow, Priority::kNormal, Priority::kNormal,
                                            Priority::kHigh, Priority::kUrgent};
  request.priority = random.pick(priorities);
  if (random.chance(150)) {
    request.share = Share::kExclusive;
  } else {
    request.vram = draw_vram(random, plan);
  }
  const std::uint64_t devices = plan.devices.size();
  if (devices > 1 && random.chance(200)) {
    request.device_count = 1 + static_cast<std::uint32_t>(random.below(devices));
    request.mixed = random.chance(500);
  } else if (random.chance(150)) {
    request.devices.emplace_back(static_cast<std::uint32_t>(random.below(devices)));
  } else if (random.chance(100)) {
    request.devices.emplace_back(random.pick(plan.devices).id);
  }
  request.eta = perhaps(random, 300, milliseconds(10), seconds(20));
  request.limit = perhaps(random, 250, milliseconds(10), seconds(20));
  request.wait_max = perhaps(random, 200, milliseconds(10), seconds(30));
  if (random.chance(80)) request.wait_max = Duration{};
  const std::vector<Leftovers> leftovers = {Leftovers::kWait, Leftovers::kWait, Leftovers::kKill,
                                            Leftovers::kRelease};
  request.leftovers = random.pick(leftovers);
  const std::vector<OverBudget> choices = {OverBudget::kKill,    OverBudget::kKill,
                                           OverBudget::kSuspend, OverBudget::kSuspend,
                                           OverBudget::kNotify,  OverBudget::kFail};
  request.over_budget = random.pick(choices);
  return request;
}

// As far as it may. Where nothing else is dealt it becomes what may: turns begin and end only where
// nobody of another kind is before those that want one.
void runs_in_turns(Random& random, const Plan& plan, SessionPlan& session) {
  Request& request = session.request;
  if (plan.slices_per_mille == kAllSlices) {
    request.device_count = 1;
    request.ttl.reset();
    session.reservation.renewals = 0;
    session.reservation.anchored = false;
    if (request.share == Share::kExclusive) request.vram = draw_vram(random, plan);
    request.share = Share::kBudget;
  }
  const bool on_one = request.device_count == 1 && request.devices.size() <= 1;
  if (!on_one || request.ttl || request.share != Share::kBudget) return;
  request.share = Share::kSlice;
  // Turns are for those who stay.
  session.command.runs_for =
      std::max(session.command.runs_for, random.spread(milliseconds(100), seconds(40)));
}

// Some of the measures that the cause may have, in their order.
Ladder draw_ladder(Random& random, Cause cause) {
  Ladder ladder = {{Measure::kNotify}};
  const Measure hardest = cause == Cause::kLeaseCritical ? Measure::kCheckpoint
                          : cause == Cause::kUnmanaged   ? Measure::kRequeue
                                                         : Measure::kKill;
  Duration after;
  for (int i = 1; i <= static_cast<int>(hardest); ++i) {
    if (random.chance(500)) continue;
    LadderStep ladder_step{.measure = static_cast<Measure>(i)};
    if (random.chance(700) || ladder_step.measure == Measure::kKill) {
      after = after + random.spread(milliseconds(10), seconds(3));
      ladder_step.after = after;
    }
    ladder.push_back(ladder_step);
  }
  return ladder;
}

// A job, or something like it; what fails is started again soon. By the clock on the wall: where
// that is set back it might never be.
void draw_job(Random& random, const Plan& plan, SessionPlan& session) {
  Request& request = session.request;
  if (request.ttl) return;
  const bool may_be_retried = plan.rate(Fault::kWallJump) == 0;
  if (may_be_retried && random.chance(300)) {
    request.retry_max = 1 + static_cast<std::uint32_t>(random.below(3));
    request.retry_after = random.spread(milliseconds(1), seconds(2));
  }
  if (may_be_retried && random.chance(200)) request.on_oom = OnOom::kGrow;
  if (!random.chance(400)) return;
  session.job.is_one = true;
  session.client.never_claims = false;
  if (request.requeue_grace) session.job.shutdown_per_mille = 300;
}

void draw_messages(Random& random, SessionPlan& session) {
  session.holds.after = perhaps(random, 100, milliseconds(1), seconds(2));
  session.holds.lasts = random.spread(milliseconds(1), seconds(10));
  session.messages.after = perhaps(random, 250, milliseconds(5), seconds(5));
  session.messages.agrees_per_mille = static_cast<std::uint32_t>(random.below(1'000));
  if (session.request.ttl || !random.chance(200)) return;
  session.request.on_message = MessageRule{.answer = OnMessage::kRefuse};
  if (random.chance(500)) session.request.on_message->users = {kFirstUser};
  if (random.chance(300)) return;
  session.request.on_message->answer = OnMessage::kPause;
  session.request.on_message->lasts = random.spread(milliseconds(1), seconds(10));
}

}  // namespace

core::Settings draw_settings(Random& random, const std::vector<Device>& devices) {
  core::Settings settings;
  const std::vector<Order> orders = {Order::kFifo, Order::kPriority, Order::kFair};
  settings.order = random.pick(orders);
  settings.backfill = random.chance(850);
  settings.pass_max = random.spread(milliseconds(50), minutes(10));
  settings.aging = random.spread(milliseconds(100), minutes(15));
  settings.starve_after = random.spread(seconds(5), hours(24));
  settings.claim_within = random.spread(milliseconds(100), seconds(5));
  settings.context_estimate = mib(256);  // No request asks for less.
  settings.reserve = random.chance(200) ? Bytes{} : random.between(mib(1), gib(2));
  if (random.chance(200)) settings.device_reserve[random.pick(devices).id] = gib(1);
  settings.exclusive_unmanaged_max = random.between(Bytes{}, gib(2));
  if (random.chance(150)) {
    settings.limits_default.leases_max = 1 + static_cast<std::uint32_t>(random.below(4));
    settings.limits_default.waiting_max = 2 + static_cast<std::uint32_t>(random.below(8));
  }
  if (random.chance(150)) settings.limits_default.vram_max = gib(8);
  settings.over_budget.grace = random.spread(milliseconds(10), seconds(5));
  if (random.chance(500)) settings.over_budget.tolerance = {};
  settings.turns.least = random.spread(milliseconds(50), seconds(10));
  settings.turns.loss_percent = random.pick(std::vector<std::uint32_t>{0, 0, 5, 50});
  settings.pressure = {.on_lease_critical = draw_ladder(random, Cause::kLeaseCritical),
                       .on_device_critical = draw_ladder(random, Cause::kDeviceCritical),
                       .on_unmanaged = draw_ladder(random, Cause::kUnmanaged),
                       .over_budget = draw_ladder(random, Cause::kOverBudget),
                       .cooldown = random.spread(seconds(1), minutes(1))};
  return settings;
}

Plan draw_plan(Random& random) {
  Plan plan;
  plan.devices = draw_devices(random);
  plan.settings = draw_settings(random, plan.devices);
  plan.sample_interval = random.spread(milliseconds(100), seconds(1));
  plan.users = 1 + static_cast<std::uint32_t>(random.below(4));
  plan.sessions_at_once = 4 + static_cast<std::size_t>(random.below(28));
  plan.arrival_max = random.spread(milliseconds(50), seconds(2));
  const std::vector<std::uint32_t> rates = {0, 0, 10, 30, 100, 300};
  for (std::uint32_t& rate : plan.per_mille) rate = random.pick(rates);
  // Every world has enough trouble to count.
  std::uint32_t& killed = plan.per_mille[static_cast<std::size_t>(Fault::kClientKilled)];
  killed = std::max(killed, 100U);
  std::uint32_t& restarted = plan.per_mille[static_cast<std::size_t>(Fault::kDaemonKilled)];
  restarted = std::max(restarted, 10U);
  const std::vector<Unmanaged> unmanaged = {Unmanaged::kAccount, Unmanaged::kWarn,
                                            Unmanaged::kIgnore};
  plan.settings.unmanaged = random.pick(unmanaged);
  plan.slices_per_mille = random.pick(std::vector<std::uint32_t>{0, 100, 300, kAllSlices});
  plan.fresh_names = random.chance(300);
  return plan;
}

// Small figures stay small and others need not fit: what is refused changes nothing.
RequestEdit draw_edit(Random& random, const Request& request, UnixMs now) {
  const std::vector<Priority> priorities = {Priority::kLow, Priority::kNormal, Priority::kHigh,
                                            Priority::kUrgent};
  switch (random.below(6)) {
    case 0:
      return {.priority = random.pick(priorities)};
    case 1:
      if (request.share == Share::kExclusive) return {.vram = random.between(kLeastEdited, gib(8))};
      return {.vram = random.between(std::max(Bytes{request.vram.value / 2}, kLeastEdited),
                                     std::max(request.vram + request.vram, kLeastEdited))};
    case 2:
      return {.share = Share::kExclusive};
    case 3:
      return {.not_before = UnixMs{now.value + static_cast<std::int64_t>(random.below(5'000))}};
    case 4:
      return {.limit = random.spread(milliseconds(50), seconds(20))};
    default:
      return {.priority = random.pick(priorities),
              .eta = random.spread(milliseconds(50), seconds(20))};
  }
}

SessionPlan draw_session(Random& random, const Plan& plan) {
  const auto meets = [&](Fault fault) { return random.chance(plan.rate(fault)); };
  SessionPlan session;
  session.user = {kFirstUser + static_cast<std::uint32_t>(random.below(plan.users))};
  session.request = draw_request(random, plan);
  const bool fresh_name = plan.fresh_names && session.user.value == kFirstUser;
  if (fresh_name) session.request.session = "s" + std::to_string(random.next());
  session.client.claims_after = random.spread({100'000}, milliseconds(20));
  session.command.runs_for = random.spread(milliseconds(5), seconds(20));
  if (random.chance(200)) session.command.exit.code = 1;
  session.client.never_claims = meets(Fault::kNeverClaims);
  session.command.ignores_term = meets(Fault::kIgnoresTerm);
  session.command.outlives = meets(Fault::kOutlives);
  session.command.double_forks = meets(Fault::kDoubleFork);
  session.command.leaks = random.chance(100);
  const auto when = [&](Fault fault) {
    return perhaps(random, plan.rate(fault), milliseconds(1), seconds(10));
  };
  session.client.hangs_up_after = when(Fault::kClientHangsUp);
  session.client.killed_after = when(Fault::kClientKilled);
  session.command.killed_after = when(Fault::kCommandKilled);
  session.parks.after = perhaps(random, 60, milliseconds(1), seconds(2));
  session.parks.lasts = random.spread(milliseconds(1), seconds(10));
  session.resizes_after = perhaps(random, 150, milliseconds(5), seconds(5));
  // What is used beyond a budget that has shrunk is its rest, which is counted, and no leak.
  if (session.command.leaks) session.resizes_after.reset();
  session.growth_wait = perhaps(random, 500, milliseconds(5), seconds(10));
  session.release.after = perhaps(random, 80, milliseconds(5), seconds(10));
  session.release.on_return = perhaps(random, 100, milliseconds(1), milliseconds(500));
  session.release.kill = random.chance(500);
  session.release.cancel = random.chance(400);
  session.suspends.after = perhaps(random, 150, milliseconds(5), seconds(5));
  session.suspends.lasts = random.spread(milliseconds(1), seconds(10));
  session.paused_for = perhaps(random, 300, milliseconds(1), seconds(10));
  session.moves_after = perhaps(random, 150, milliseconds(5), seconds(5));
  session.freezes.after = perhaps(random, 100, milliseconds(5), seconds(5));
  session.freezes.lasts = random.spread(milliseconds(200), seconds(5));
  if (random.chance(150)) {
    session.request.ttl = random.spread(milliseconds(50), seconds(10));
    session.reservation.renewals = static_cast<std::uint32_t>(random.below(4));
    session.request.limit.reset();  // It has its time.
    session.reservation.anchored = random.chance(400);
  } else if (random.chance(200)) {
    session.request.checkpoint =
        CheckpointWay{.kind = CheckpointKind::kSignal,
                      .grace = random.spread(milliseconds(10), seconds(5)),
                      .every = perhaps(random, 500, seconds(1), seconds(5))};
    session.saves.after = perhaps(random, 700, milliseconds(5), seconds(5));
    session.saves.lasts = random.spread(milliseconds(1), seconds(12));
    const bool listens = session.saves.lasts.ns % 2 == 0;  // And can be asked to clean up.
    if (listens) session.request.checkpoint->kind = CheckpointKind::kLibrary;
  }
  if (!session.request.ttl && random.chance(session.request.checkpoint ? 500 : 250)) {
    session.request.requeue_grace = random.spread(milliseconds(10), seconds(5));
    session.requeues_after = perhaps(random, 800, milliseconds(5), seconds(5));
  }
  if (plan.jobs) session.edits_after = perhaps(random, 200, milliseconds(1), seconds(5));
  session.edits_start = plan.rate(Fault::kWallJump) == 0;
  session.request.may_yield = !session.request.ttl && random.chance(300);
  if (random.chance(plan.slices_per_mille)) runs_in_turns(random, plan, session);
  if (!plan.jobs) return session;
  draw_job(random, plan, session);
  draw_messages(random, session);
  return session;
}

}  // namespace berth::sim
