// SPDX-License-Identifier: Apache-2.0
#include "sim/advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "sim/turns.h"

namespace berth::sim {
namespace {

using Kind = Remedy::Kind;

constexpr core::Token kToken{~std::uint64_t{0}};
constexpr int kSamples = 3;  // Until what was done has come of it.

// A copy of the coordinator in a world in which all goes well: the driver tells the truth, what is
// to be moved is, and whoever is told to end does.
class Attempt {
 public:
  Attempt(const Evidence& evidence, const core::Coordinator& coordinator, core::Now now)
      : evidence_(evidence),
        copy_(coordinator.copy()),
        devices_(evidence.devices.look()),
        moving_(evidence.moving),
        now_(now) {}
  Attempt(const Attempt& other)
      : evidence_(other.evidence_),
        copy_(other.copy_.copy()),
        devices_(other.devices_),
        moving_(other.moving_),
        now_(other.now_) {}

  const core::Coordinator& coordinator() const { return copy_; }
  bool is_lost(DeviceId id) const {
    const auto device = std::ranges::find(devices_.devices, id, &DeviceSample::id);
    return device == devices_.devices.end() || device->lost;
  }
  core::Now now() const { return now_; }

  std::vector<core::Effect> tell(const core::Event& event) {
    std::vector<core::Effect> effects = copy_.step(now_, event);
    for (const core::Effect& effect : effects) {
      const auto* move = std::get_if<core::MoveMemory>(&effect);
      if (move != nullptr) moving_[move->lease] = move->number;
    }
    return effects;
  }

  // No time passes: what is proposed is true of now.
  void sample() {
    devices_.asked_at = devices_.answered_at = now_.instant;
    tell(core::Sampled{devices_});
  }

  /// All at once, as one command would. False: it was refused.
  bool carry_out(Kind kind, const std::vector<LeaseId>& leases, Bytes bytes) {
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

  /// The request that was made in place of the waiting one.
  std::optional<LeaseId> ask_instead(const LeaseView& waiter, const Request& request) {
    const core::Actor owner{.user = waiter.user};
    tell(core::Release{
        .token = kToken, .actor = owner, .lease = waiter.id, .kill = true, .cancel = true});
    for (const core::Effect& effect : tell(core::Submit{.token = kToken,
                                                        .actor = owner,
                                                        .handle = {~waiter.id.value, 1},
                                                        .supervisor = waiter.supervisor,
                                                        .request = request})) {
      const auto* reply = std::get_if<core::Reply>(&effect);
      if (reply == nullptr) continue;
      if (const auto* view = std::get_if<LeaseView>(&reply->answer)) return view->id;
    }
    return std::nullopt;
  }

  bool has_started(LeaseId id) {
    for (int i = 0; i < kSamples; ++i) {
      const std::optional<LeaseView> view = copy_.lease(id, now_);
      if (view && view->state == LeaseState::kHeld) return true;
      sample();
    }
    return false;
  }

 private:
  // It was not refused.
  bool is_done(const core::Event& event) {
    return std::ranges::none_of(tell(event), [](const core::Effect& effect) {
      const auto* reply = std::get_if<core::Reply>(&effect);
      return reply != nullptr && reply->token == kToken &&
             std::holds_alternative<Refusal>(reply->answer);
    });
  }

  // Of the dead the driver knows the pid alone.
  bool belongs(const ProcessSample& process, const LeaseView& lease) const {
    if (lease.command == process.process) return true;
    if (process.alive)
      return std::ranges::find(lease.members, process.process) != lease.members.end();
    const ShadowLease* known = evidence_.journal.find(lease.id);
    return known != nullptr && known->had_pid(process.process.pid);
  }

  void memory_leaves(const LeaseView& lease) {
    for (DeviceSample& device : devices_.devices) {
      if (!device.processes) continue;
      Bytes gone;
      std::erase_if(*device.processes, [&](const ProcessSample& process) {
        if (!belongs(process, lease)) return false;
        gone += process.used.value_or(Bytes{});
        return true;
      });
      if (device.used) device.used = saturating_sub(*device.used, gone);
    }
  }

  // All that was begun of this lease, one after the other.
  void finish_moves(LeaseId lease) {
    for (auto move = moving_.find(lease); move != moving_.end(); move = moving_.find(lease)) {
      const std::uint64_t number = move->second;
      moving_.erase(move);
      tell(core::Moved{.lease = lease, .number = number, .result = {}});
    }
  }

  bool begin(Kind kind, const LeaseView& lease, Bytes bytes) {
    const core::Actor owner{.user = lease.user};
    const bool cancel = kind == Kind::kCancelLease;
    const bool kill = cancel || kind == Kind::kEndPrograms;
    switch (kind) {
      case Kind::kPauseLease:
        return is_done(core::Suspend{.token = kToken, .actor = owner, .lease = lease.id});
      case Kind::kShrinkLease:
        return is_done(core::Resize{
            .token = kToken, .actor = owner, .lease = lease.id, .vram = bytes, .wait_max = {}});
      case Kind::kRequeueLease:
        return begin_requeue(lease, owner);
      case Kind::kCancelLease:
      case Kind::kEndPrograms:
      case Kind::kReleaseLease:
        return is_done(core::Release{
            .token = kToken, .actor = owner, .lease = lease.id, .kill = kill, .cancel = cancel});
      case Kind::kAskLess:
      case Kind::kOtherDevice:
        return false;
    }
    return false;
  }

  bool begin_requeue(const LeaseView& lease, core::Actor owner) {
    if (!is_done(core::AskRequeue{.token = kToken, .actor = owner, .lease = lease.id})) {
      return false;
    }
    const std::optional<LeaseView> asked = copy_.lease(lease.id, now_);
    if (asked && asked->checkpoints.asked) {
      tell(core::ReportCheckpoint{.token = kToken,
                                  .actor = owner,
                                  .handle = lease.handle,
                                  .number = asked->checkpoints.asked->number,
                                  .outcome = CheckpointOutcome::kSaved,
                                  .detail = {}});
    }
    return is_done(core::BeginRequeue{.token = kToken, .actor = owner, .handle = lease.handle});
  }

  // All its processes; its `berth run` tells how the command ended, or comes back to wait.
  void stops(Kind kind, const LeaseView& lease) {
    const core::Actor owner{.user = lease.user};
    if (kind == Kind::kRequeueLease) {
      tell(core::Reconnect{
          .token = kToken, .actor = owner, .handle = lease.handle, .restarts = lease.restarts + 1});
    } else if (lease.command) {
      tell(core::ReportExit{.token = kToken,
                            .actor = owner,
                            .handle = lease.handle,
                            .exit = {},
                            .leftovers = {},
                            .restarts = lease.restarts});
    }
    if (lease.command) tell(core::ProcessEnded{*lease.command});
    for (const Process& member : lease.members) tell(core::ProcessEnded{member});
  }

  const Evidence& evidence_;
  core::Coordinator copy_;
  Sample devices_;                           // As the driver tells them from now on.
  std::map<LeaseId, std::uint64_t> moving_;  // Which move of each is under way.
  core::Now now_;
};

// When what it has comes free nobody can tell.
bool is_on_lost_device(const Attempt& base, LeaseId id) {
  const std::optional<LeaseView> lease = base.coordinator().lease(id, base.now());
  return lease && std::ranges::any_of(lease->parts, [&](const LeasePart& part) {
           return base.is_lost(part.device);
         });
}

bool helps(const Attempt& base, const LeaseView& waiter, const Remedy& remedy) {
  Attempt attempt(base);
  if (remedy.kind == Kind::kAskLess || remedy.kind == Kind::kOtherDevice) {
    Request request = waiter.request;
    if (remedy.kind == Kind::kAskLess) {
      request.vram = remedy.bytes;
    } else {
      request.device_count = static_cast<std::uint32_t>(request.devices.size());
      request.devices.clear();
    }
    const std::optional<LeaseId> id = attempt.ask_instead(waiter, request);
    return id && attempt.has_started(*id);
  }
  std::vector<LeaseId> leases = remedy.also;
  leases.insert(leases.begin(), remedy.lease);
  if (std::ranges::any_of(leases, [&](LeaseId id) { return is_on_lost_device(base, id); })) {
    return true;
  }
  return attempt.carry_out(remedy.kind, leases, remedy.bytes) && attempt.has_started(waiter.id);
}

std::string text_of(const Remedy& remedy) {
  if (remedy.lease == LeaseId{}) return std::string(to_text(remedy.kind));
  std::string text = fmt::format("{} of lease {}", to_text(remedy.kind), remedy.lease.value);
  for (const LeaseId other : remedy.also) text += fmt::format(" and {}", other.value);
  return text;
}

// Whose end is told as when it starts. Nobody is before it in any way: else room may be kept. With
// `fair` who is next changes when somebody else has less.
std::string broken_start(const Attempt& base, const LeaseView& waiter, const WhyView& why) {
  if (!why.expected_start || why.ahead_count > 0 || !may_be_offered(why.reason)) return {};
  const bool is_named = std::ranges::any_of(
      why.holders, [&](const Holder& holder) { return holder.expected_end == why.expected_start; });
  if (!is_named || waiter.request.share != Share::kBudget) return {};
  for (const LeaseView& lease : base.coordinator().leases(base.now())) {
    const bool stands = lease.state == LeaseState::kHeld && lease.flags == LeaseFlags{};
    if (lease.state != LeaseState::kWaiting && !stands) return {};
  }
  Attempt attempt(base);
  for (std::size_t i = 0; i <= base.coordinator().queue(base.now()).size(); ++i) {
    std::vector<LeaseId> ending;
    for (const LeaseView& lease : attempt.coordinator().leases(attempt.now())) {
      const bool holds = lease.state == LeaseState::kHeld && lease.expected_end;
      if (!holds || is_on_lost_device(base, lease.id)) continue;
      // Who was granted something since has passed it: while somebody is on his way out.
      const bool passed = base.coordinator().lease(lease.id, base.now())->parts.empty();
      if (passed || *lease.expected_end <= *why.expected_start) ending.push_back(lease.id);
    }
    if (!attempt.carry_out(Kind::kCancelLease, ending, {})) return {};
    if (attempt.has_started(waiter.id)) return {};
  }
  return fmt::format("lease {} was to start when others end by then, and does not",
                     waiter.id.value);
}

// Where nobody is ahead nothing but leases and strangers keeps it waiting; of those behind it some
// may pass while the last are on their way out, and end as well.
std::string broken_place(const Attempt& base, const LeaseView& waiter, const WhyView& why) {
  using Reason = WhyView::Reason;
  const bool by_leases = why.reason == Reason::kMemory || why.reason == Reason::kExclusive ||
                         why.reason == Reason::kTurn || why.reason == Reason::kSlices;
  if (why.ahead_count > 0 || !by_leases) return {};
  Attempt attempt(base);
  for (std::size_t i = 0; i <= base.coordinator().queue(base.now()).size(); ++i) {
    std::vector<LeaseId> all;
    for (const LeaseView& lease : attempt.coordinator().leases(attempt.now())) {
      if (lease.state == LeaseState::kWaiting || lease.state == LeaseState::kReleasing) continue;
      if (is_on_lost_device(attempt, lease.id)) return {};
      all.push_back(lease.id);
    }
    if (!attempt.carry_out(Kind::kCancelLease, all, {})) return {};
    if (attempt.has_started(waiter.id)) return {};
  }
  // Of those that had ended before, memory may not be free yet.
  const std::vector<LeaseView> left = attempt.coordinator().leases(attempt.now());
  const bool is_free = std::ranges::none_of(
      left, [](const LeaseView& lease) { return lease.state == LeaseState::kReleasing; });
  const std::optional<WhyView> after = attempt.coordinator().why(waiter.id, attempt.now());
  if (!is_free || !after || after->ahead_count > 0 || after->reason == Reason::kStrangers) {
    return {};
  }
  return fmt::format("nobody is ahead of lease {}, and it waits when all leases have ended ({})",
                     waiter.id.value, to_text(after->reason));
}

}  // namespace

std::string broken_by_advice(const Evidence& evidence, const Question& question) {
  const std::vector<LeaseId> queue = question.coordinator.queue(question.now);
  if (queue.empty()) return {};
  Attempt base(evidence, question.coordinator, question.now);
  base.sample();
  const LeaseId which = queue[question.number % queue.size()];
  const std::optional<LeaseView> waiter = base.coordinator().lease(which, base.now());
  if (!waiter || waiter->state != LeaseState::kWaiting) return {};
  for (const Remedy& remedy : base.coordinator().remedies(which, base.now())) {
    if (helps(base, *waiter, remedy)) continue;
    return fmt::format("{} was proposed to lease {}, which does not start by it", text_of(remedy),
                       which.value);
  }
  const std::optional<WhyView> why = base.coordinator().why(which, base.now());
  if (!why) return {};
  std::string broken = broken_place(base, *waiter, *why);
  const bool keeps_order = evidence.settings.order != core::Order::kFair;
  if (broken.empty() && keeps_order) broken = broken_start(base, *waiter, *why);
  return broken;
}

}  // namespace berth::sim
