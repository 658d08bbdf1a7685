// SPDX-License-Identifier: Apache-2.0
#include "sim/attempt.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace berth::sim {
namespace {

using Kind = Remedy::Kind;

constexpr core::Token kToken{~std::uint64_t{0}};
constexpr int kSamples = 3;  // Until what was done has come of it.
constexpr int kRounds = 6;   // Until who was away is back: a sample and a move for each step.

}  // namespace

Attempt::Attempt(const Observations& observations, const core::Coordinator& coordinator,
                 core::Now now)
    : observations_(observations),
      copy_(coordinator.copy()),
      devices_(observations.devices.look()),
      moving_(observations.moving),
      now_(now) {}

Attempt::Attempt(const Attempt& other)
    : observations_(other.observations_),
      copy_(other.copy_.copy()),
      devices_(other.devices_),
      moving_(other.moving_),
      leaving_(other.leaving_),
      saving_(other.saving_),
      now_(other.now_) {}

bool Attempt::is_lost(DeviceId id) const {
  const auto device = std::ranges::find(devices_.devices, id, &DeviceSample::id);
  return device == devices_.devices.end() || device->lost;
}

bool Attempt::is_on_lost_device(LeaseId id) const {
  const std::optional<LeaseView> lease = copy_.lease(id, now_);
  return lease && std::ranges::any_of(lease->parts,
                                      [&](const LeasePart& part) { return is_lost(part.device); });
}

std::vector<core::Effect> Attempt::feed(const core::Event& event) {
  std::vector<core::Effect> effects = copy_.step(now_, event);
  for (const core::Effect& effect : effects) {
    if (const auto* append = std::get_if<core::Append>(&effect)) {
      const auto* asked = std::get_if<CheckpointAsked>(&append->record.fact);
      if (asked != nullptr) saving_.insert(asked->id);
    }
    const auto* move = std::get_if<core::Transfer>(&effect);
    if (move == nullptr) continue;
    moving_[move->lease] = move->number;
    if (move->direction == Direction::kSwapOut) leaving_.insert(move->lease);
  }
  return effects;
}

void Attempt::recovers() {
  moving_.clear();
  feed(core::Recovered{.same_boot = true, .safe_mode = false});
  for (const LeaseView& lease : copy_.leases(now_)) {
    std::vector<Process> all = lease.members;
    if (lease.command) all.push_back(*lease.command);
    if (lease.supervisor) all.push_back(*lease.supervisor);
    for (const Process process : all) {
      if (!observations_.processes.alive(process)) feed(core::ProcessEnded{process});
    }
    if (lease.state != LeaseState::kWaiting && !lease.flags.unclaimed) continue;
    feed(core::Reconnect{.token = kToken,
                         .actor = {.user = lease.user},
                         .handle = lease.handle,
                         .body = {.restarts = lease.restarts}});
  }
}

void Attempt::sample() {
  devices_.asked_at = devices_.answered_at = now_.instant;
  feed(core::Sampled{devices_});
}

void Attempt::wait_until(Instant instant) {
  now_.wall.value += (instant - now_.instant).ns / 1'000'000;
  now_.instant = instant;
  feed(core::Woke{});
}

bool Attempt::carry_out(Kind kind, const std::vector<LeaseId>& leases, Bytes bytes) {
  std::vector<LeaseView> before;
  for (const LeaseId id : leases) {
    const std::optional<LeaseView> lease = copy_.lease(id, now_);
    if (!lease || !begin(kind, *lease, bytes)) return false;
    before.push_back(*lease);
  }
  for (const LeaseView& lease : before) {
    const bool ends = kind == Kind::kCancelLease || kind == Kind::kEndPrograms;
    if (ends || kind == Kind::kRequeueLease) stops(kind, lease);
    if (kind != Kind::kShrinkLease) finish_moves(lease.id);
  }
  for (const LeaseView& lease : before) {
    if (kind != Kind::kShrinkLease) memory_leaves(lease);
  }
  sample();
  return true;
}

bool Attempt::resume(const LeaseView& lease) {
  const core::Actor owner{.user = lease.user};
  return is_done(core::Resume{.token = kToken, .actor = owner, .lease = lease.id});
}

std::optional<LeaseId> Attempt::ask_instead(const LeaseView& waiter, const Request& request) {
  const core::Actor owner{.user = waiter.user};
  feed(core::Cancel{.token = kToken, .actor = owner, .lease = waiter.id});
  for (const core::Effect& effect : feed(core::Submit{.token = kToken,
                                                      .actor = owner,
                                                      .handle = {~waiter.id.value, 1},
                                                      .supervisor = waiter.supervisor,
                                                      .request = request})) {
    const auto* reply = std::get_if<core::Reply>(&effect);
    if (reply == nullptr) continue;
    if (const auto* view = std::get_if<Boxed<LeaseView>>(&reply->answer)) return (*view)->id;
  }
  return std::nullopt;
}

bool Attempt::has_started(LeaseId id) {
  for (int i = 0; i < kSamples; ++i) {
    const std::optional<LeaseView> view = copy_.lease(id, now_);
    if (view && view->state == LeaseState::kHeld) return true;
    leave();
    sample();
  }
  return false;
}

void Attempt::report_saved(LeaseId id) {
  saving_.erase(id);
  const std::optional<LeaseView> lease = copy_.lease(id, now_);
  if (!lease || !lease->checkpoints.asked) return;
  feed(core::ReportCheckpoint{
      .token = kToken,
      .actor = {.user = lease->user},
      .handle = lease->handle,
      .body = {.number = lease->checkpoints.asked->number, .outcome = CheckpointOutcome::kSaved}});
}

// Leases that were told to since make room for another: that is why. A sample may have asked one to
// save itself, and until it has its turn does not end.
void Attempt::leave() {
  for (const LeaseId id : std::set(saving_)) report_saved(id);
  for (const LeaseId id : std::set(leaving_)) {
    const std::optional<LeaseView> lease = copy_.lease(id, now_);
    finish_moves(id);
    if (lease) memory_leaves(*lease);
  }
}

void Attempt::settle(LeaseId id) {
  for (int i = 0; i < kRounds; ++i) {
    const std::optional<LeaseView> lease = copy_.lease(id, now_);
    if (!lease) return;
    const bool leaves = lease->flags.suspending || leaving_.contains(id);
    finish_moves(id);
    if (leaves) memory_leaves(*lease);
    sample();
    feed(core::Woke{});
  }
}

bool Attempt::is_seen_free(const LeaseView& lease) const {
  return std::ranges::all_of(lease.parts, [&](const LeasePart& part) {
    const auto device = std::ranges::find(devices_.devices, part.device, &DeviceSample::id);
    const bool is_told = device != devices_.devices.end() && device->used && device->processes;
    return is_told && device->processes->empty() && !device->asleep && !device->lost;
  });
}

// It was not refused.
bool Attempt::is_done(const core::Event& event) {
  return std::ranges::none_of(feed(event), [](const core::Effect& effect) {
    const auto* reply = std::get_if<core::Reply>(&effect);
    return reply != nullptr && reply->token == kToken &&
           std::holds_alternative<Refusal>(reply->answer);
  });
}

// What the dead have where the lease is no longer is not its own: nobody knows when that leaves.
bool Attempt::belongs(const ProcessSample& process, DeviceId device, const LeaseView& lease) const {
  if (!process.alive) {
    const bool is_here = std::ranges::any_of(
        lease.parts, [&](const LeasePart& part) { return part.device == device; });
    return is_here && observations_.last_with(process.process.pid) == lease.id;
  }
  const auto is_its = [&](const Process& one) {
    const bool runs_it = lease.supervisor == one && !lease.request.ttl;
    return lease.command == one || runs_it ||
           std::ranges::find(lease.members, one) != lease.members.end();
  };
  const bool is_named = process.env_lease == lease.handle && process.user == lease.user;
  return is_named || is_its(process.process) || std::ranges::any_of(process.ancestors, is_its);
}

// What is inside another lease belongs to the younger of the two.
void Attempt::memory_leaves(const LeaseView& lease) {
  std::vector<LeaseView> inner = copy_.leases(now_);
  std::erase_if(inner, [&](const LeaseView& other) { return other.id <= lease.id; });
  leave_if([&](const ProcessSample& process, DeviceId device) {
    return belongs(process, device, lease) &&
           std::ranges::none_of(inner, [&](const LeaseView& other) {
             return process.alive && belongs(process, device, other);
           });
  });
}

void Attempt::dead_leave() {
  leave_if([](const ProcessSample& process, DeviceId) { return !process.alive; });
  sample();
}

void Attempt::leave_if(const std::function<bool(const ProcessSample&, DeviceId)>& goes) {
  for (DeviceSample& device : devices_.devices) {
    if (!device.processes) continue;
    Bytes gone;
    std::erase_if(*device.processes, [&](const ProcessSample& process) {
      if (!goes(process, device.id)) return false;
      gone += process.used.value_or(Bytes{});
      return true;
    });
    if (device.used) device.used = saturating_sub(*device.used, gone);
  }
}

// All that was begun of this lease, one after the other.
void Attempt::finish_moves(LeaseId lease) {
  for (auto move = moving_.find(lease); move != moving_.end(); move = moving_.find(lease)) {
    const std::uint64_t number = move->second;
    moving_.erase(move);
    feed(core::TransferDone{.lease = lease, .number = number, .result = {}});
  }
  leaving_.erase(lease);
}

bool Attempt::begin(Kind kind, const LeaseView& lease, Bytes bytes) {
  const core::Actor owner{.user = lease.user};
  switch (kind) {
    case Kind::kPauseLease:
      return is_done(core::Suspend{.token = kToken, .actor = owner, .lease = lease.id});
    case Kind::kShrinkLease:
      return is_done(core::Resize{
          .token = kToken, .actor = owner, .lease = lease.id, .body = {.vram = bytes}});
    case Kind::kRequeueLease:
      return begin_requeue(lease, owner);
    case Kind::kCancelLease:
    case Kind::kEndPrograms:
    case Kind::kReleaseLease:
      return is_done(core::Release{.token = kToken,
                                   .actor = owner,
                                   .lease = lease.id,
                                   .body = {.kill = kind != Kind::kReleaseLease}});
    case Kind::kAskLess:
    case Kind::kOtherDevice:
      return false;
  }
  return false;
}

bool Attempt::begin_requeue(const LeaseView& lease, core::Actor owner) {
  if (!is_done(core::AskRequeue{.token = kToken, .actor = owner, .lease = lease.id})) {
    return false;
  }
  report_saved(lease.id);
  return is_done(core::BeginRequeue{.token = kToken, .actor = owner, .handle = lease.handle});
}

// All its processes; its `berth run` tells how the command ended, or comes back to wait.
void Attempt::stops(Kind kind, const LeaseView& lease) {
  const core::Actor owner{.user = lease.user};
  if (kind == Kind::kRequeueLease) {
    feed(core::Reconnect{.token = kToken,
                         .actor = owner,
                         .handle = lease.handle,
                         .body = {.restarts = lease.restarts + 1}});
  } else if (lease.command) {
    feed(core::ReportExit{.token = kToken,
                          .actor = owner,
                          .handle = lease.handle,
                          .body = {.restarts = lease.restarts}});
  }
  if (lease.command) feed(core::ProcessEnded{*lease.command});
  for (const Process& member : lease.members) feed(core::ProcessEnded{member});
}

}  // namespace berth::sim
