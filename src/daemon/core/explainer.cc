// SPDX-License-Identifier: Apache-2.0
#include "core/explainer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/quantity.h"
#include "core/backfill.h"
#include "core/limits.h"
#include "core/placement.h"
#include "core/site.h"

namespace berth::core {
namespace {

constexpr std::size_t kProjectedMax = 64;  // Requests ahead that a projection looks at.
constexpr LeaseId kImagined{~std::uint64_t{0}};

bool wants_whole(const Request& request) {
  return request.share == Share::kExclusive;
}

std::vector<Shortage> shortages_at(const Site& site, const Request& request) {
  std::vector<Shortage> shortages;
  for (const Account* account : site.accounts) {
    if (shortages.size() == limits::kWhyListed) break;
    shortages.push_back(shortage_on(*account, request));
  }
  return shortages;
}

// A guess at when each of those ahead starts and ends, one after the other, each on the device that
// has room for it first.
class Projection {
 public:
  Projection(const State& state, const Ledger& ledger, Instant now) : now_(now) {
    for (const Account& account : ledger.accounts()) {
      Room room{.account = &account,
                .capacity = saturating_sub(account.capacity, account.held_back())};
      for (const auto& [id, entry] : account.entries) {
        const Lease* lease = state.find(id);
        const Instant end = lease == nullptr ? now : expected_end(*lease, entry.reported_end, now);
        room.occupancies.push_back({now, end, entry.exclusive ? Bytes::max() : entry.charge});
        // What it waits to grow by is granted before anything that is queued.
        const Held* held = lease == nullptr ? nullptr : lease->held();
        if (held == nullptr || !held->growth) continue;
        room.occupancies.push_back({now, end, saturating_sub(held->growth->vram, entry.budget)});
      }
      rooms_.push_back(std::move(room));
    }
  }

  /// When it would start; never() if no end is known that would do. Takes up the room.
  Instant start(const Request& request) {
    const std::size_t count = device_count(request);
    std::vector<std::pair<Instant, Room*>> choices;
    for (auto& [model, group] : choices_of(request)) {
      if (group.size() < count) continue;
      std::ranges::stable_sort(group, {}, [](const auto& choice) { return choice.first; });
      const bool sooner = choices.empty() || group[count - 1].first < choices[count - 1].first;
      if (sooner) choices = std::move(group);
    }
    if (choices.empty()) return Instant::never();
    const Instant at = choices[count - 1].first;
    Instant end = Instant::never();
    if (request.limit) end = at + *request.limit;
    if (request.eta) end = std::min(end, at + *request.eta);
    const Bytes bytes = wants_whole(request) ? Bytes::max() : request.vram;
    for (std::size_t i = 0; i < count && at != Instant::never(); ++i) {
      choices[i].second->occupancies.push_back({at, end, bytes});
    }
    return at;
  }

 private:
  struct Occupancy {
    Instant from;
    Instant until;
    Bytes bytes;
  };
  struct Room {
    const Account* account;
    Bytes capacity;
    std::vector<Occupancy> occupancies = {};
  };

  // When each room would do; of one model, where it wants that.
  std::map<std::string, std::vector<std::pair<Instant, Room*>>> choices_of(const Request& request) {
    std::map<std::string, std::vector<std::pair<Instant, Room*>>> choices;
    const bool one_model = wants_one_model(request);
    for (Room& room : rooms_) {
      if (!room.account->seen || !is_eligible(*room.account, request)) continue;
      choices[one_model ? room.account->model : std::string()].emplace_back(earliest(room, request),
                                                                            &room);
    }
    return choices;
  }

  Instant earliest(const Room& room, const Request& request) const {
    std::vector<Instant> candidates{now_};
    for (const Occupancy& occupancy : room.occupancies) {
      if (occupancy.until != Instant::never()) candidates.push_back(occupancy.until);
    }
    std::ranges::sort(candidates);
    for (const Instant at : candidates) {
      Bytes taken;
      bool anyone = false;
      for (const Occupancy& occupancy : room.occupancies) {
        if (occupancy.until <= at) continue;
        taken += occupancy.bytes;
        anyone = true;
      }
      const bool fits = wants_whole(request) ? !anyone : taken + request.vram <= room.capacity;
      if (fits) return at;
    }
    return Instant::never();
  }

  Instant now_;
  std::vector<Room> rooms_;
};

}  // namespace

void Explainer::add_shortages(const Request& request, WhyView& view) const {
  const Site site = site_of(*ledger_, request, core_->settings().exclusive_unmanaged_max);
  view.devices_wanted = site.wanted;
  view.devices_fitting = site.fitting;
  view.shortages = shortages_at(site, request);
}

// Bounds are looked at when it asks, and may have been lowered since.
std::optional<LoweredLimit> Explainer::lowered_limit(const Lease& lease) const {
  using Kind = LoweredLimit::Kind;
  const UserLimits& bounds = core_->limits_of(lease.user);
  if (bounds.leases_max == 0) {
    return LoweredLimit{.kind = Kind::kLeases, .allowed = 0, .asked = 1};
  }
  const Bytes asked = most_taken(*ledger_, lease.request);
  if (asked > bounds.vram_max) {
    return LoweredLimit{
        .kind = Kind::kVram, .allowed = bounds.vram_max.value, .asked = asked.value};
  }
  const std::optional<Bytes> most = too_small_for(*ledger_, lease.request);
  if (!most) return std::nullopt;
  return LoweredLimit{
      .kind = Kind::kDevice, .allowed = most->value, .asked = lease.request.vram.value};
}

WhyView Explainer::why(const Lease& lease, Now at) const {
  WhyView view;
  view.id = lease.id;
  view.state = survivor_view(lease).state;
  if (wants_turn(lease) && lease.held() != nullptr) {
    add_turns(lease, view, at);
    view.halt = views_->halt_of(lease, at);
    return view;
  }
  if (lease.waiting() == nullptr) {
    const bool offered = lease.held() != nullptr && !lease.held()->claimed;
    view.reason = offered ? WhyView::Reason::kClaim : WhyView::Reason::kNotWaiting;
    add_halt(lease, view, at);
    return view;
  }
  const std::optional<std::uint32_t> place = position(lease.id, at.instant);
  CHECK(place.has_value());
  view.position = *place;
  view.ahead_count = view.position - 1;
  view.waited = lease.waited_before + (at.instant - lease.queued_at);
  for (const LeaseId id : order(at.instant)) {
    if (id == lease.id || view.ahead.size() == limits::kWhyListed) break;
    view.ahead.push_back(id);
  }
  add_shortages(lease.request, view);
  view.reason = reason_of(lease, view);
  if (view.reason == WhyView::Reason::kAboveLimit) view.limit = lowered_limit(lease);
  const bool counts_leases = view.reason == WhyView::Reason::kUserLimit;
  if (!view.shortages.empty() && (!counts_leases || view.ahead_count <= kProjectedMax)) {
    add_holders(lease, view, at);
  }
  if (view.reason == WhyView::Reason::kAfter) view.retried = dependencies_->retried(lease);
  add_start(lease, view, at);
  return view;
}

// As things stand, a request that is parked, away or above a bound is passed by all others.
void Explainer::add_start(const Lease& lease, WhyView& view, Now at) const {
  using Reason = WhyView::Reason;
  const bool waits_for_itself =
      view.reason == Reason::kStopped || view.reason == Reason::kParked ||
      view.reason == Reason::kOnHold || view.reason == Reason::kAfter ||
      view.reason == Reason::kMembers || view.reason == Reason::kNotBefore ||
      view.reason == Reason::kNotReconnected || view.reason == Reason::kAboveLimit;
  if (waits_for_itself) return;
  if (view.ahead_count <= kProjectedMax && core_->may_grant()) {
    Projection projection(core_->state(), *ledger_, at.instant);
    for (const LeaseId id : order(at.instant)) {
      const Lease& ahead = *core_->state().find(id);
      if (id != lease.id && !presence_->takes_part(ahead)) continue;
      Instant start = projection.start(ahead.request);
      if (id != lease.id) continue;
      if (view.reason == Reason::kUserLimit) {
        start = std::max(start, when_user_has_room(lease, at.instant));
      }
      if (start != Instant::never()) view.expected_start = wall_at(start, at);
      break;
    }
  }
  const std::optional<Instant> comes = slices_->turn_comes(lease.id);
  if (comes) view.expected_start = wall_at(*comes, at);
}

// If the known ends of the user's leases hold.
Instant Explainer::when_user_has_room(const Lease& lease, Instant at) const {
  const UserLimits& bounds = core_->limits_of(lease.user);
  UserCount count = indexes_->count_of(lease.user);
  const Bytes asked = most_taken(*ledger_, lease.request);
  std::vector<std::pair<Instant, const Held*>> ends;
  for (const auto& [id, other] : core_->state().leases()) {
    if (other.user != lease.user || other.held() == nullptr) continue;
    ends.emplace_back(views_->expected_end_of(other, at), other.held());
  }
  std::ranges::stable_sort(ends, {}, [](const auto& end) { return end.first; });
  Instant when = at;
  for (const auto& [end, held] : ends) {
    if (count.held < bounds.leases_max && count.vram + asked <= bounds.vram_max) break;
    count.held -= 1;
    for (const Part& part : held->parts) count.vram = saturating_sub(count.vram, part.budget);
    when = end;
  }
  return when;
}

WhyView::Reason Explainer::reason_of(const Lease& lease, const WhyView& view) const {
  using Reason = WhyView::Reason;
  if (!core_->may_grant()) return Reason::kStopped;
  if (lease.set && !lease.waiting()->hold) return Reason::kMembers;
  if (!presence_->is_connected(lease.id)) return Reason::kNotReconnected;
  if (lease.waiting()->parked_since) return Reason::kParked;
  const Lease* set = dependencies_->set_of(lease);
  if (lease.waiting()->hold || (set != nullptr && set->waiting()->hold)) return Reason::kOnHold;
  if (set != nullptr && dependencies_->waits_for_others(*set)) return Reason::kAfter;
  if (dependencies_->waits_for_others(lease)) return Reason::kAfter;
  if (dependencies_->is_early(lease)) return Reason::kNotBefore;
  if (lowered_limit(lease)) return Reason::kAboveLimit;
  if (view.shortages.size() < view.devices_wanted) return Reason::kDriver;
  if (!indexes_->user_has_room(lease)) return Reason::kUserLimit;
  // Of those that it would get, the one that lacks most.
  const Account& best = *ledger_->find(view.shortages[view.devices_wanted - 1].device);
  if (fits_now(best, lease.request, core_->settings().exclusive_unmanaged_max)) {
    const bool passed_enough = std::ranges::any_of(view.ahead, [&](LeaseId id) {
      const Waiting* ahead = core_->state().find(id)->waiting();
      return ahead->passed_since &&
             *ahead->passed_since + core_->settings().pass_max <= core_->now().instant;
    });
    return passed_enough ? Reason::kPassed : Reason::kTurn;
  }
  if (best.overcommitted()) return Reason::kOvercommitted;
  Bytes freed;
  Bytes outlived;
  for (const auto& [id, entry] : best.entries) {
    const Lease& other = *core_->state().find(id);
    if (other.releasing() != nullptr) (other.is_outlived() ? outlived : freed) += entry.charge;
  }
  const auto is_enough = [&](Bytes back) {
    return back > Bytes{} &&
           (wants_whole(lease.request) ? back == best.charged
                                       : lease.request.vram <= best.grantable() + back);
  };
  if (is_enough(freed)) return Reason::kProbing;
  if (is_enough(freed + outlived)) return Reason::kOutlived;
  const Bytes without_unmanaged = saturating_sub(
      saturating_sub(best.capacity, std::max(best.reserve, best.driver)), best.charged);
  if (wants_whole(lease.request)) {
    return best.entries.empty() ? Reason::kUnmanaged : Reason::kExclusive;
  }
  if (best.exclusive_count > 0) return Reason::kExclusive;
  const bool in_turns = lease.request.share == Share::kSlice;
  if (in_turns && slices_->fits_without_slices(best, lease)) return Reason::kSlices;
  if (lease.request.vram <= without_unmanaged) return Reason::kUnmanaged;
  return Reason::kMemory;
}

void Explainer::add_holders(const Lease& lease, WhyView& view, Now at) const {
  const bool own = view.reason == WhyView::Reason::kUserLimit;
  const std::size_t count = std::min<std::size_t>(view.devices_wanted, view.shortages.size());
  const bool all_fit = view.devices_fitting >= view.devices_wanted;
  std::map<LeaseId, std::vector<HeldThere>> held;
  for (std::size_t i = own || all_fit ? 0 : view.devices_fitting; i < count; ++i) {
    const DeviceId device = view.shortages[i].device;
    for (const auto& [id, entry] : ledger_->find(device)->entries) {
      if (!own) held[id].push_back({device, entry.charge});
    }
  }
  if (own) {
    for (const auto& [id, other] : core_->state().leases()) {
      if (other.user != lease.user || other.held() == nullptr) continue;
      for (const Part& part : other.held()->parts) held[id].push_back({part.device, part.budget});
    }
  }
  for (auto& [id, devices] : held) {
    const Lease& holder = *core_->state().find(id);
    Bytes charge;
    for (const HeldThere& there : devices) charge += there.charged;
    const Instant end = views_->expected_end_of(holder, at.instant);
    view.holders.push_back(
        {.lease = id,
         .user = holder.user,
         .name = holder.request.name,
         .charged = charge,
         .expected_end = end == Instant::never() ? std::nullopt : std::optional(wall_at(end, at)),
         .has_ended = holder.is_outlived(),
         .devices = std::move(devices)});
  }
  std::ranges::stable_sort(view.holders, std::greater{}, &Holder::charged);
  if (view.holders.size() > limits::kWhyListed) view.holders.resize(limits::kWhyListed);
}

// The request stands in the queue for the length of this function: the answer is what the schedule
// would do, by the same code.
std::variant<FitView, Refusal> Explainer::fit(const Request& asked, Actor actor, Now at) {
  const Request request = admission_->with_learned_size(asked, actor.user);
  if (std::optional<Refusal> refusal = admission_->refuse(request, actor))
    return *std::move(refusal);
  const Lease imagined{.id = kImagined,
                       .user = actor.user,
                       .request = request,
                       .queued_at = at.instant,
                       .queued_sequence = core_->state().last_sequence() + 1,
                       .state = Waiting{}};
  const Place place = Queue::place_of(imagined, core_->settings());
  NextTurns turns_taken = slices_->next_turns();
  indexes_->queue_for_trial().insert(place);

  FitView view;
  if (request.learned) view.learned = request.vram;
  Walk walk(core_->state(), *ledger_, core_->settings(), at.instant);
  walk.take_turns(std::move(turns_taken));
  for (const LeaseId id : indexes_->growing()) walk.leave_growing(*core_->state().find(id));
  Projection projection(core_->state(), *ledger_, at.instant);
  InOrder waiting = indexes_->in_order(at.instant);
  while (const Lease* next = waiting.next()) {
    const Lease& ahead = *next;
    if (ahead.id == kImagined) break;
    if (ahead.waiting()->is_set_aside() || !dependencies_->is_free(ahead)) continue;
    if (view.ahead_count < kProjectedMax) (void)projection.start(ahead.request);
    if (view.ahead_count < limits::kBackfillDepth && !walk.is_over()) walk.leave_waiting(ahead);
    ++view.ahead_count;
  }
  indexes_->queue_for_trial().erase(place);
  if (view.ahead_count < limits::kBackfillDepth && core_->may_grant() &&
      indexes_->user_has_room(imagined)) {
    if (const auto parts = walk.place(request)) {
      view.fits = true;
      for (const Part& part : *parts) view.devices.push_back(part.device);
    }
  }
  const Instant start = view.fits ? at.instant : projection.start(request);
  if (start != Instant::never() && view.ahead_count <= kProjectedMax) {
    view.expected_start = wall_at(start, at);
  }
  view.largest = most_grantable(*ledger_, request);
  WhyView lacks;
  add_shortages(request, lacks);
  if (!indexes_->user_has_room(imagined)) lacks.reason = WhyView::Reason::kUserLimit;
  if (!view.fits && !lacks.shortages.empty()) add_holders(imagined, lacks, at);
  view.shortages = std::move(lacks.shortages);
  view.holders = std::move(lacks.holders);
  view.devices_wanted = lacks.devices_wanted;
  view.devices_fitting = lacks.devices_fitting;
  return view;
}

// Why it has no turn now: it has been away since its last one.
void Explainer::add_turns(const Lease& lease, WhyView& view, Now at) const {
  view.reason = WhyView::Reason::kSlices;
  view.waited = at.instant - lease.waits_since();
  const DeviceId device = lease.held()->parts.front().device;
  InOrder order = slices_->in_order(at.instant);
  for (const Lease* next = order.next(); next != nullptr && next != &lease; next = order.next()) {
    const bool here = next->held() == nullptr || next->held()->parts.front().device == device;
    if (!here) continue;
    if (view.ahead.size() < limits::kWhyListed) view.ahead.push_back(next->id);
    ++view.ahead_count;
  }
  view.position = static_cast<std::uint32_t>(view.ahead_count) + 1;
  const std::optional<Instant> comes = slices_->turn_comes(lease.id);
  if (comes) view.expected_start = wall_at(*comes, at);
  Request there = lease.request;
  there.devices = {DeviceName{device}};
  add_shortages(there, view);
  if (!view.shortages.empty()) add_holders(lease, view, at);
}

void Explainer::add_halt(const Lease& lease, WhyView& view, Now at) const {
  view.halt = views_->halt_of(lease, at);
  if (!view.halt) return;
  switch (view.halt->reason) {
    case Halt::Reason::kPaused:
      view.reason = WhyView::Reason::kPaused;
      view.expected_start = pause_end(*lease.held(), at);
      break;
    case Halt::Reason::kYields: {
      view.reason = WhyView::Reason::kYields;
      const Lease& other = *core_->state().find(view.halt->lease.value_or(LeaseId{}));
      const Instant end =
          other.held() == nullptr ? Instant::never() : views_->expected_end_of(other, at.instant);
      if (end != Instant::never()) view.expected_start = wall_at(end, at);
      break;
    }
    case Halt::Reason::kTurn:
      view.reason = WhyView::Reason::kSlices;
      break;
    case Halt::Reason::kMoves:
      view.reason = WhyView::Reason::kMoves;
      break;
    case Halt::Reason::kMeasure:
      view.reason = WhyView::Reason::kMeasure;
      break;
    case Halt::Reason::kReturns:
      view.reason = WhyView::Reason::kReturns;
      break;
    case Halt::Reason::kNotReturned:
      view.reason = WhyView::Reason::kNotReturned;
      break;
  }
}

const Explainer::Ranked& Explainer::ranked(Instant at) const {
  // Shares change with every grant and end; all else that counts, with the queue alone.
  const std::uint64_t current =
      core_->settings().order == Order::kFair ? core_->version() : indexes_->queue_version();
  const bool fresh = ranked_ && ranked_->version == current && at - ranked_->at < seconds(1);
  if (fresh) return *ranked_;
  if (!ranked_) ranked_ = Ranked();
  Ranked& cache = *ranked_;  // Made anew often: its memory is kept.
  cache.version = current;
  cache.at = at;
  cache.order.clear();
  cache.places.clear();
  InOrder waiting = indexes_->in_order(at);
  while (const Lease* lease = waiting.next()) {
    cache.order.push_back(lease->id);
    cache.places.emplace_back(lease->id, static_cast<std::uint32_t>(cache.order.size()));
  }
  if (!std::ranges::is_sorted(cache.places)) std::ranges::sort(cache.places);
  return cache;
}

std::optional<std::uint32_t> Explainer::position(LeaseId id, Instant at) const {
  const auto& places = ranked(at).places;
  const auto found = std::ranges::lower_bound(places, std::pair(id, 0U));
  return found != places.end() && found->first == id ? std::optional(found->second) : std::nullopt;
}

}  // namespace berth::core
