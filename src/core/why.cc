// SPDX-License-Identifier: Apache-2.0
// Explanations of a waiting request: why it waits, when it may start, and what would make that
// sooner; and the forecast for a request that is not made yet.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/quantity.h"
#include "core/backfill.h"
#include "core/impl.h"
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

std::string ahead_text(std::size_t count) {
  return count == 1 ? "1 request is ahead" : std::to_string(count) + " requests are ahead";
}

}  // namespace

void Coordinator::Impl::add_shortages(const Request& request, WhyView& view) const {
  const Site site = site_of(ledger, request, settings.exclusive_unmanaged_max);
  view.devices_wanted = site.wanted;
  view.devices_fitting = site.fitting;
  view.shortages = shortages_at(site, request);
}

std::string Coordinator::Impl::shortage_text(const Request& request, UserId user) const {
  const Site site = site_of(ledger, request, settings.exclusive_unmanaged_max);
  if (site.accounts.empty()) {
    return trouble.empty() ? "no GPU that it could use is there now"
                           : "the state of the GPUs is not known: " + trouble;
  }
  const std::string wanted = std::to_string(site.wanted) + " GPUs";
  if (site.is_short_of_devices()) {
    return "it asks for " + wanted + ", and " + std::to_string(site.accounts.size()) +
           " that it could use are there now";
  }
  if (site.fits()) {
    const Lease asked{.user = user, .request = request, .state = Waiting{}};
    if (!user_has_room(asked)) return "you have as much as one user may have (limits)";
    if (queue.size() > 0) return ahead_text(queue.size());
    return growing.empty() ? "it cannot be granted at this moment"
                           : "room is kept for a lease that grows or comes back";
  }
  const std::string several = site.wanted == 1 ? ""
                                               : std::to_string(site.fitting) + " of the " +
                                                     wanted + " asked could be granted now; ";
  const Account& lacks = *site.accounts[site.fitting];
  const std::string gpu = "GPU " + std::to_string(lacks.index);
  if (wants_whole(request)) {
    const bool others = lacks.charged > Bytes{};
    return several +
           (others ? "other leases are on " + gpu + " (" + to_text(lacks.charged) + ")"
                   : "processes outside Berth use " + to_text(lacks.heeded()) + " of " + gpu);
  }
  return several + gpu + " can grant " + to_text(lacks.grantable()) + " of the " +
         to_text(request.vram) + " asked";
}

// Bounds are looked at when it asks, and may have been lowered since.
std::optional<LoweredLimit> Coordinator::Impl::lowered_limit(const Lease& lease) const {
  using Kind = LoweredLimit::Kind;
  const UserLimits& bounds = limits_of(lease.user);
  if (bounds.leases_max == 0) {
    return LoweredLimit{.kind = Kind::kLeases, .allowed = 0, .asked = 1};
  }
  Bytes asked;
  for (std::size_t i = 0; i < device_count(lease.request); ++i) asked += lease.request.vram;
  if (asked > bounds.vram_max) {
    return LoweredLimit{
        .kind = Kind::kVram, .allowed = bounds.vram_max.value, .asked = asked.value};
  }
  const std::optional<Bytes> most = too_small_for(ledger, lease.request);
  if (!most) return std::nullopt;
  return LoweredLimit{
      .kind = Kind::kDevice, .allowed = most->value, .asked = lease.request.vram.value};
}

WhyView Coordinator::Impl::why(const Lease& lease, Now at) const {
  WhyView view;
  view.id = lease.id;
  view.state = survivor_view(lease).state;
  if (wants_turn(lease) && lease.held() != nullptr) {
    add_turns(lease, view, at);
    view.halt = halt_of(lease, at);
    return view;
  }
  if (lease.waiting() == nullptr) {
    const bool offered = lease.held() != nullptr && !lease.held()->claimed;
    view.reason = offered ? WhyView::Reason::kClaim : WhyView::Reason::kNotWaiting;
    add_halt(lease, view, at);
    return view;
  }
  const OrderCache& queued = order(at.instant);
  const std::optional<std::uint32_t> position = queued.position(lease.id);
  CHECK(position.has_value());
  view.position = *position;
  view.ahead_count = view.position - 1;
  view.waited = lease.waited_before + (at.instant - lease.queued_at);
  for (const LeaseId id : queued.order) {
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
  add_start(lease, view, at);
  return view;
}

// As things stand, whoever is parked, away or above a bound is passed by all others.
void Coordinator::Impl::add_start(const Lease& lease, WhyView& view, Now at) const {
  using Reason = WhyView::Reason;
  const bool waits_for_itself = view.reason == Reason::kStopped || view.reason == Reason::kParked ||
                                view.reason == Reason::kNotReconnected ||
                                view.reason == Reason::kAboveLimit;
  if (waits_for_itself) return;
  if (view.ahead_count <= kProjectedMax && may_grant()) {
    Projection projection(state, ledger, at.instant);
    for (const LeaseId id : order(at.instant).order) {
      const Lease& ahead = *state.find(id);
      if (id != lease.id && !takes_part(ahead)) continue;
      Instant start = projection.start(ahead.request);
      if (id != lease.id) continue;
      if (view.reason == Reason::kUserLimit) {
        start = std::max(start, when_user_has_room(lease, at.instant));
      }
      if (start != Instant::never()) view.expected_start = wall_at(start, at);
      break;
    }
  }
  const auto comes = turn_comes.find(lease.id);
  if (comes != turn_comes.end()) view.expected_start = wall_at(comes->second, at);
}

// If the known ends of his leases hold.
Instant Coordinator::Impl::when_user_has_room(const Lease& lease, Instant at) const {
  const UserLimits& bounds = limits_of(lease.user);
  UserCount count = users.at(lease.user);
  Bytes asked;
  for (std::size_t i = 0; i < device_count(lease.request); ++i) asked += lease.request.vram;
  std::vector<std::pair<Instant, const Held*>> ends;
  for (const auto& [id, other] : state.leases()) {
    if (other.user != lease.user || other.held() == nullptr) continue;
    ends.emplace_back(expected_end(other, observed.at(id).reported_end(), at), other.held());
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

WhyView::Reason Coordinator::Impl::reason_of(const Lease& lease, const WhyView& view) const {
  using Reason = WhyView::Reason;
  if (!may_grant()) return Reason::kStopped;
  if (!observed.at(lease.id).connected) return Reason::kNotReconnected;
  if (lease.waiting()->parked_since) return Reason::kParked;
  if (lowered_limit(lease)) return Reason::kAboveLimit;
  if (view.shortages.size() < view.devices_wanted) return Reason::kDriver;
  if (!user_has_room(lease)) return Reason::kUserLimit;
  // Of those that it would get, the one that lacks most.
  const Account& best = *ledger.find(view.shortages[view.devices_wanted - 1].device);
  if (fits_now(best, lease.request, settings.exclusive_unmanaged_max)) {
    const bool passed_enough = std::ranges::any_of(view.ahead, [&](LeaseId id) {
      const Waiting* ahead = state.find(id)->waiting();
      return ahead->passed_since && *ahead->passed_since + settings.pass_max <= now.instant;
    });
    return passed_enough ? Reason::kPassed : Reason::kTurn;
  }
  if (best.overcommitted()) return Reason::kOvercommitted;
  Bytes freed;
  Bytes outlived;
  for (const auto& [id, entry] : best.entries) {
    const Lease& other = *state.find(id);
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
  if (in_turns && fits_without_slices(best, lease)) return Reason::kSlices;
  if (lease.request.vram <= without_unmanaged) return Reason::kUnmanaged;
  return Reason::kMemory;
}

void Coordinator::Impl::add_holders(const Lease& lease, WhyView& view, Now at) const {
  const bool own = view.reason == WhyView::Reason::kUserLimit;
  const std::size_t count = std::min<std::size_t>(view.devices_wanted, view.shortages.size());
  const bool all_fit = view.devices_fitting >= view.devices_wanted;
  std::map<LeaseId, std::vector<HeldThere>> held;
  for (std::size_t i = own || all_fit ? 0 : view.devices_fitting; i < count; ++i) {
    const DeviceId device = view.shortages[i].device;
    for (const auto& [id, entry] : ledger.find(device)->entries) {
      if (!own) held[id].push_back({device, entry.charge});
    }
  }
  if (own) {
    for (const auto& [id, other] : state.leases()) {
      if (other.user != lease.user || other.held() == nullptr) continue;
      for (const Part& part : other.held()->parts) held[id].push_back({part.device, part.budget});
    }
  }
  for (auto& [id, devices] : held) {
    const Lease& holder = *state.find(id);
    Bytes charge;
    for (const HeldThere& there : devices) charge += there.charged;
    const Instant end = expected_end(holder, observed.at(id).reported_end(), at.instant);
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
std::variant<FitView, Refusal> Coordinator::Impl::fit(const Request& asked, Actor actor, Now at) {
  const Request request = with_learned_size(asked, actor.user);
  if (std::optional<Refusal> refusal = refuse_request(request, actor)) return *std::move(refusal);
  const Lease imagined{.id = kImagined,
                       .user = actor.user,
                       .request = request,
                       .queued_at = at.instant,
                       .queued_sequence = state.last_sequence() + 1,
                       .state = Waiting{}};
  const Place place = Queue::place_of(imagined, settings);
  NextTurns turns_taken = next_turns();
  queue.insert(place);

  FitView view;
  if (request.learned) view.learned = request.vram;
  Walk walk(state, ledger, settings, at.instant);
  walk.take_turns(std::move(turns_taken));
  for (const LeaseId id : growing) walk.leave_growing(*state.find(id));
  Projection projection(state, ledger, at.instant);
  InOrder waiting(queue, at.instant, settings, state.shares());
  while (const Lease* next = waiting.next()) {
    const Lease& ahead = *next;
    if (ahead.id == kImagined) break;
    if (ahead.waiting()->parked_since) continue;
    if (view.ahead_count < kProjectedMax) (void)projection.start(ahead.request);
    if (view.ahead_count < limits::kBackfillDepth && !walk.is_over()) walk.leave_waiting(ahead);
    ++view.ahead_count;
  }
  queue.erase(place);
  if (view.ahead_count < limits::kBackfillDepth && may_grant() && user_has_room(imagined)) {
    if (const auto parts = walk.place(request)) {
      view.fits = true;
      for (const Part& part : *parts) view.devices.push_back(part.device);
    }
  }
  const Instant start = view.fits ? at.instant : projection.start(request);
  if (start != Instant::never() && view.ahead_count <= kProjectedMax) {
    view.expected_start = wall_at(start, at);
  }
  view.largest = most_grantable(ledger, request);
  WhyView lacks;
  add_shortages(request, lacks);
  if (!user_has_room(imagined)) lacks.reason = WhyView::Reason::kUserLimit;
  if (!view.fits && !lacks.shortages.empty()) add_holders(imagined, lacks, at);
  view.shortages = std::move(lacks.shortages);
  view.holders = std::move(lacks.holders);
  view.devices_wanted = lacks.devices_wanted;
  view.devices_fitting = lacks.devices_fitting;
  return view;
}

}  // namespace berth::core
