// SPDX-License-Identifier: Apache-2.0
// Proposals that would let a waiting request start.
//
// Note [Advice is tried]: each proposal is carried out in a copy of the coordinator, by the event
// that its command would be; what the world would do about it is assumed to go well: memory that is
// to be moved leaves, a command that is to end does, and the driver counts free what they had when
// all is done; others that are granted something in between have it before the one who asks. Only
// if the request is granted then is it proposed. So no rule of the schedule has to be written
// twice. It takes as long as so many copies, and is done when a user asks for it, with a bound on
// both.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/number.h"
#include "core/impl.h"
#include "core/limits.h"
#include "core/placement.h"
#include "core/site.h"

namespace berth::core {
namespace {

using Kind = Remedy::Kind;

constexpr unsigned kPausesSince = 570;  // NVIDIA's driver of CUDA 12.8.
constexpr std::size_t kListedOfAKind = 2;
constexpr int kMovesMax = 4;  // Of one lease, one after the other.
constexpr std::size_t kTriesMax = 48;
constexpr std::size_t kCopiedMax = 8'192;  // Leases, in all copies for one answer.
constexpr std::size_t kTriesMin = 8;       // Where so many copies are too much, nothing is tried.

Bytes whole_mib(Bytes bytes) {
  const std::uint64_t one = mib(1).value;
  return {(bytes.value + one - 1) / one * one};
}

std::size_t tries_for(std::size_t leases) {
  return std::min(kTriesMax, kCopiedMax / std::max<std::size_t>(leases, 1));
}

bool is_refused(const std::vector<Effect>& effects) {
  return std::ranges::any_of(effects, [](const Effect& effect) {
    const auto* reply = std::get_if<Reply>(&effect);
    return reply != nullptr && std::holds_alternative<Refusal>(reply->answer);
  });
}

}  // namespace

/// One that wants a remedy carried out on it: see Note [Advice is tried].
class Coordinator::Trial {
 public:
  explicit Trial(Impl& on) : on_(on) {}

  std::optional<Remedy> remedy_for(Kind kind, const Lease& holder) const;
  /// All at once, as one command would. False: it cannot be.
  bool carry_out(const std::vector<Remedy>& remedies);
  /// The number of the request that was made in place of the waiting one.
  std::optional<LeaseId> ask_instead(LeaseId waiter, Request request);

 private:
  bool feed(const Event& event) { return !is_refused(on_.step(on_.now(), event)); }
  bool can_pause(const Lease& lease) const;
  bool begin(const Remedy& remedy, LeaseId id);
  bool begin_requeue(const Lease& lease);
  void end_processes(Kind kind, LeaseId id);
  bool come_free(Kind kind, LeaseId id);

  Impl& on_;
};

bool Coordinator::Trial::can_pause(const Lease& lease) const {
  const bool can =
      on_.devices.simulated() || leading_number(on_.devices.driver_version()) >= kPausesSince;
  return can && on_.transfers.of(lease.id).failure.empty() &&
         on_.attribution.used_by_higher(lease.id) > Bytes{};
}

std::optional<Remedy> Coordinator::Trial::remedy_for(Kind kind, const Lease& holder) const {
  Remedy remedy{.kind = kind, .lease = holder.id};
  if (kind == Kind::kEndPrograms) {
    // What came after its end was never a member, and would run on.
    const bool all_end = holder.is_outlived() && !on_.attribution.runs_on(holder.id);
    return all_end ? std::optional(std::move(remedy)) : std::nullopt;
  }
  const Held* held = holder.held();
  if (held == nullptr || held->revoked) return std::nullopt;
  switch (kind) {
    case Kind::kPauseLease:
      if (!can_pause(holder)) return std::nullopt;
      break;
    case Kind::kShrinkLease: {
      Bytes peak = on_.devices.dearest_context(holder);
      bool known = false;
      for (const auto& [device, use] : on_.attribution.uses(holder.id)) {
        peak = std::max({peak, use.highest(), use.higher_now()});
        known = known || use.highest() > Bytes{};
      }
      remedy.bytes = whole_mib(peak);
      const bool falls = std::ranges::all_of(
          held->parts, [&](const Part& part) { return remedy.bytes < part.budget; });
      if (!known || !falls) return std::nullopt;
      break;
    }
    case Kind::kRequeueLease:
      if (on_.requeuing.refuse(holder)) return std::nullopt;
      break;
    case Kind::kReleaseLease:
      if (!holder.request.ttl || held->has_processes()) return std::nullopt;
      break;
    case Kind::kCancelLease:
      if (holder.request.ttl && !held->has_processes()) return std::nullopt;
      break;
    case Kind::kEndPrograms:
    case Kind::kAskLess:
    case Kind::kOtherDevice:
      return std::nullopt;
  }
  return remedy;
}

std::optional<LeaseId> Coordinator::Trial::ask_instead(LeaseId waiter, Request request) {
  const Lease& before = *on_.state().find(waiter);
  const Actor owner{.user = before.user};
  const LeaseId id{on_.state().next_id()};
  const Submit submit{.token = {},
                      .actor = owner,
                      .handle = {~id.value, id.value},
                      .supervisor = before.supervisor,
                      .request = std::move(request)};
  static_cast<void>(feed(Release{.token = {}, .actor = owner, .lease = waiter}));
  if (!feed(submit)) return std::nullopt;
  return id;
}

/// Its command is given. False: it is refused.
bool Coordinator::Trial::begin(const Remedy& remedy, LeaseId id) {
  const Lease* lease = on_.state().find(id);
  if (lease == nullptr) return false;
  const bool can_begin =
      remedy.kind == Kind::kEndPrograms ? lease->is_outlived() : lease->held() != nullptr;
  if (!can_begin) return false;
  const Actor owner{.user = lease->user};
  switch (remedy.kind) {
    case Kind::kPauseLease:
      return feed(Suspend{.token = {}, .actor = owner, .lease = id});
    case Kind::kShrinkLease: {
      const ResizeBody smaller{.vram = remedy.bytes};
      return feed(Resize{.token = {}, .actor = owner, .lease = id, .body = smaller});
    }
    case Kind::kRequeueLease:
      return begin_requeue(*lease);
    case Kind::kCancelLease:
    case Kind::kEndPrograms:
    case Kind::kReleaseLease: {
      const ReleaseBody end{.kill = remedy.kind != Kind::kReleaseLease};
      return feed(Release{.token = {}, .actor = owner, .lease = id, .body = end});
    }
    case Kind::kAskLess:
    case Kind::kOtherDevice:
      return false;
  }
  return false;
}

/// It has saved itself, and its `berth run` says that it stops it.
bool Coordinator::Trial::begin_requeue(const Lease& lease) {
  const Actor owner{.user = lease.user};
  if (!feed(AskRequeue{.token = {}, .actor = owner, .lease = lease.id})) {
    return false;
  }
  if (lease.checkpoints.asked) {
    static_cast<void>(feed(ReportCheckpoint{
        .token = {},
        .actor = owner,
        .handle = lease.handle,
        .body = {lease.checkpoints.asked->number, CheckpointOutcome::kSaved, {}}}));
  }
  return feed(BeginRequeue{.token = {}, .actor = owner, .handle = lease.handle});
}

/// Its `berth run` tells how its command ended, or comes back to wait.
void Coordinator::Trial::end_processes(Kind kind, LeaseId id) {
  const Lease* lease = on_.state().find(id);
  const Held* held = lease == nullptr ? nullptr : lease->granted();
  if (held == nullptr) return;
  std::vector<Process> processes(held->members.begin(), held->members.end());
  if (held->command && !held->command_ended) processes.insert(processes.begin(), *held->command);
  const Actor owner{.user = lease->user};
  if (kind == Kind::kRequeueLease) {
    static_cast<void>(feed(Reconnect{
        .token = {}, .actor = owner, .handle = lease->handle, .body = {lease->restarts + 1}}));
  } else if (held->command) {
    static_cast<void>(feed(ReportExit{.token = {},
                                      .actor = owner,
                                      .handle = lease->handle,
                                      .body = {.restarts = lease->restarts}}));
  }
  for (const Process& process : processes) {
    static_cast<void>(feed(ProcessEnded{process}));
  }
}

/// The driver counts free what it is to give up. False: that is nothing.
bool Coordinator::Trial::come_free(Kind kind, LeaseId id) {
  const Lease* lease = on_.state().find(id);
  if (lease == nullptr) return true;
  switch (kind) {
    case Kind::kPauseLease:
      if (lease->held() == nullptr || !lease->held()->is_swapped_out()) return false;
      on_.attribution.suppose_swapped_out(id);
      return true;
    case Kind::kShrinkLease:
      // If its turn ends before anybody has looked, it is to find what it had when it returns.
      if (lease->held() == nullptr || lease->held()->suspension) return false;
      on_.attribution.suppose_shrunk(id);
      return true;
    case Kind::kRequeueLease:
      return on_.lifecycle.suppose_requeued(id);
    case Kind::kCancelLease:
    case Kind::kEndPrograms:
    case Kind::kReleaseLease:
      on_.decide(id, LeaseEnded{id, EndResult::kCancelled});
      return true;
    case Kind::kAskLess:
    case Kind::kOtherDevice:
      return false;
  }
  return false;
}

bool Coordinator::Trial::carry_out(const std::vector<Remedy>& remedies) {
  const auto each = [&](const auto& done) { return std::ranges::all_of(remedies, done); };
  std::map<DeviceId, Bytes> unmanaged;
  for (const Account& account : on_.ledger.accounts()) unmanaged[account.id] = account.unmanaged;
  if (!each([&](const Remedy& one) { return begin(one, one.lease); })) return false;
  for (const Remedy& one : remedies) {
    if (one.kind == Kind::kShrinkLease) continue;
    const bool stays = one.kind == Kind::kPauseLease || one.kind == Kind::kReleaseLease;
    if (!stays) end_processes(one.kind, one.lease);
    for (int i = 0; i < kMovesMax && on_.state().find(one.lease) != nullptr; ++i) {
      const std::uint64_t number = on_.transfers.of(one.lease).number;
      if (number == 0) break;
      feed(TransferDone{.lease = one.lease, .number = number, .result = {}});
    }
  }
  std::set<LeaseId> leaving;
  for (const Remedy& one : remedies) {
    if (one.kind != Kind::kShrinkLease) leaving.insert(one.lease);
  }
  on_.attribution.suppose_gone(leaving, unmanaged);
  return each([&](const Remedy& one) { return come_free(one.kind, one.lease); });
}

namespace {

// Remedies of one kind, of those that hold what is wanted.
using Attempt = std::function<bool(const std::vector<Remedy>&)>;

Remedy together(const std::vector<Remedy>& each) {
  Remedy all = each.front();
  for (std::size_t i = 1; i < each.size(); ++i) all.also.push_back(each[i].lease);
  return all;
}

// One alone where that does; else the fewest that do, those that hold most first.
std::vector<Remedy> that_help(const std::vector<Remedy>& able, const Attempt& helps) {
  std::vector<Remedy> found;
  for (const Remedy& one : able) {
    if (found.size() < kListedOfAKind && helps({one})) found.push_back(one);
  }
  if (!found.empty() || able.size() < 2 || able.front().kind == Kind::kShrinkLease) return found;
  std::vector<Remedy> chosen;
  bool enough = false;
  for (const Remedy& one : able) {
    chosen.push_back(one);
    enough = chosen.size() > 1 && helps(chosen);
    if (enough) break;
  }
  if (!enough) return found;
  for (std::size_t i = 0; i < chosen.size() && chosen.size() > 1;) {
    std::vector<Remedy> fewer = chosen;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (helps(fewer)) {
      chosen = std::move(fewer);
    } else {
      ++i;
    }
  }
  return {together(chosen)};
}

}  // namespace

std::vector<Remedy> Coordinator::remedies(LeaseId id, Now now) const {
  const Lease* waiter = impl_->state().find(id);
  if (waiter == nullptr || waiter->waiting() == nullptr) return {};
  const std::size_t tries_max = tries_for(impl_->state().leases().size());
  if (tries_max < kTriesMin) return {};
  const WhyView view = impl_->explainer.why(*waiter, now);
  if (!impl_->presence.is_offerable(*waiter) || view.limit || view.shortages.empty()) return {};
  Coordinator base = copy();
  base.impl_->begin(now);
  std::size_t tries = 0;
  // What becomes of a change of the copy: the lease that it names was granted.
  const auto granted_after = [&](const auto& change) -> std::optional<std::vector<Part>> {
    if (tries++ >= tries_max) return std::nullopt;
    Coordinator trial = base.copy();
    Impl& impl = *trial.impl_;
    const std::optional<LeaseId> which = change(impl);
    if (!which) return std::nullopt;
    impl.scheduler.schedule();
    const Lease* after = impl.state().find(*which);
    if (after == nullptr || after->held() == nullptr) return std::nullopt;
    return after->held()->parts;
  };
  // Nothing has to be done.
  if (granted_after([&](Impl&) { return std::optional(id); })) return {};
  std::vector<Remedy> found;
  for (const Kind kind : {Kind::kReleaseLease, Kind::kEndPrograms, Kind::kPauseLease,
                          Kind::kShrinkLease, Kind::kRequeueLease, Kind::kCancelLease}) {
    std::vector<Remedy> able;
    for (const Holder& holder : view.holders) {
      const Lease& lease = *impl_->state().find(holder.lease);
      if (auto remedy = Trial(*impl_).remedy_for(kind, lease)) able.push_back(*std::move(remedy));
    }
    const auto helps_so = [&](const std::vector<Remedy>& chosen) {
      return granted_after([&](Impl& impl) {
               return Trial(impl).carry_out(chosen) ? std::optional(id) : std::nullopt;
             })
          .has_value();
    };
    // Those that wait again do so in the order in which they have stopped, whatever that is.
    const auto helps = [&](std::vector<Remedy> chosen) {
      const bool is_ordered = kind == Kind::kRequeueLease && chosen.size() > 1;
      if (!is_ordered) return helps_so(chosen);
      std::ranges::sort(chosen, {}, &Remedy::lease);
      return helps_so(chosen) && helps_so({chosen.rbegin(), chosen.rend()});
    };
    for (Remedy& remedy : that_help(able, helps)) found.push_back(std::move(remedy));
  }
  const Request& asked = waiter->request;
  const Bytes most{most_grantable(impl_->ledger, asked).value / mib(1).value * mib(1).value};
  if (asked.share != Share::kExclusive && most < asked.vram && most > Bytes{}) {
    Request less = asked;
    less.vram = most;
    if (granted_after([&](Impl& impl) { return Trial(impl).ask_instead(id, less); })) {
      found.insert(found.begin(), {.kind = Kind::kAskLess, .bytes = most});
    }
  }
  if (!asked.devices.empty()) {
    Request anywhere = asked;
    anywhere.device_count = static_cast<std::uint32_t>(device_count(asked));
    anywhere.devices.clear();
    const auto parts =
        granted_after([&](Impl& impl) { return Trial(impl).ask_instead(id, anywhere); });
    if (parts) found.push_back({.kind = Kind::kOtherDevice, .device = parts->front().device});
  }
  return found;
}

std::vector<Remedy> Coordinator::remedies(const Request& request, Actor actor, Now now) const {
  if (tries_for(impl_->state().leases().size() + 1) < kTriesMin) return {};
  Coordinator asked = copy();
  Request waits = impl_->admission.with_learned_size(request, actor.user);
  waits.wait_max.reset();
  const LeaseId id{asked.impl_->state().next_id()};
  const Submit submit{.token = {},
                      .actor = actor,
                      .handle = {~id.value, id.value},
                      .supervisor = std::nullopt,
                      .request = std::move(waits)};
  if (is_refused(asked.step(now, submit))) return {};
  return asked.remedies(id, now);
}

}  // namespace berth::core
