// SPDX-License-Identifier: Apache-2.0
// Why a request waits, when it may start, and what would make that sooner; and what would become of
// a request if it were made now.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/quantity.h"
#include "core/backfill.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

constexpr std::size_t kProjectedMax = 64;  // Requests ahead that a projection looks at.
constexpr LeaseId kImagined{~std::uint64_t{0}};

bool wants_whole(const Request& request) {
  return request.share == Share::kExclusive;
}

// What the request lacks on the device; for a whole device all that is charged there.
Shortage shortage_on(const Account& account, const Request& request) {
  return {.device = account.id,
          .index = account.index,
          .capacity = account.capacity,
          .held_back = account.held_back(),
          .charged = account.charged,
          .grantable = account.grantable(),
          .missing = wants_whole(request) ? account.charged
                                          : saturating_sub(request.vram, account.grantable()),
          .external = account.external};
}

std::vector<Shortage> shortages_of(const Ledger& ledger, const Request& request) {
  std::vector<Shortage> shortages;
  for (const Account& account : ledger.accounts()) {
    if (!account.seen || !is_eligible(account, request) || !fits_ever(account, request)) continue;
    shortages.push_back(shortage_on(account, request));
  }
  std::ranges::stable_sort(shortages, {}, &Shortage::missing);
  if (shortages.size() > limits::kWhyListed) shortages.resize(limits::kWhyListed);
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
        const Instant end = lease == nullptr ? now : expected_end(*lease, entry.told_end, now);
        room.stays.push_back({now, end, entry.exclusive ? Bytes::max() : entry.charge});
      }
      rooms_.push_back(std::move(room));
    }
  }

  /// When it would start; never() if no end is known that would do. Takes up the room.
  Instant start(const Request& request) {
    const std::size_t count =
        request.devices.empty() ? request.device_count : request.devices.size();
    std::vector<std::pair<Instant, Room*>> choices;
    for (Room& room : rooms_) {
      if (!room.account->seen || !is_eligible(*room.account, request)) continue;
      choices.emplace_back(earliest(room, request), &room);
    }
    if (choices.size() < count) return Instant::never();
    std::ranges::stable_sort(choices, {}, [](const auto& choice) { return choice.first; });
    const Instant at = choices[count - 1].first;
    Instant end = Instant::never();
    if (request.limit) end = at + *request.limit;
    if (request.eta) end = std::min(end, at + *request.eta);
    const Bytes bytes = wants_whole(request) ? Bytes::max() : request.vram;
    for (std::size_t i = 0; i < count && at != Instant::never(); ++i) {
      choices[i].second->stays.push_back({at, end, bytes});
    }
    return at;
  }

 private:
  struct Stay {
    Instant from;
    Instant until;
    Bytes bytes;
  };
  struct Room {
    const Account* account;
    Bytes capacity;
    std::vector<Stay> stays = {};
  };

  Instant earliest(const Room& room, const Request& request) const {
    std::vector<Instant> candidates{now_};
    for (const Stay& stay : room.stays) {
      if (stay.until != Instant::never()) candidates.push_back(stay.until);
    }
    std::ranges::sort(candidates);
    for (const Instant at : candidates) {
      Bytes taken;
      bool anyone = false;
      for (const Stay& stay : room.stays) {
        if (stay.until <= at) continue;
        taken += stay.bytes;
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
  view.shortages = shortages_of(ledger, request);
}

std::string Coordinator::Impl::shortage_text(const Request& request) const {
  const std::vector<Shortage> shortages = shortages_of(ledger, request);
  if (shortages.empty()) {
    return trouble.empty() ? "no GPU that it could use is there now"
                           : "the state of the GPUs is not known: " + trouble;
  }
  const Shortage& best = shortages.front();
  const std::string gpu = "GPU " + std::to_string(best.index);
  if (wants_whole(request)) {
    if (best.charged == Bytes{}) return gpu + " is not free to be taken whole";
    return "other leases are on " + gpu + " (" + to_text(best.charged) + ")";
  }
  if (best.missing == Bytes{}) return ahead_text(queue.size()) + " on " + gpu;
  return gpu + " can grant " + to_text(best.grantable) + " of the " + to_text(request.vram) +
         " asked";
}

WhyView Coordinator::Impl::why(const Lease& lease, Now at) const {
  WhyView view;
  view.id = lease.id;
  view.state = survivor_view(lease).state;
  if (wants_turn(lease) && lease.held() != nullptr) {
    add_turns(lease, view, at);
    return view;
  }
  if (lease.waiting() == nullptr) {
    const bool offered = lease.held() != nullptr && !lease.held()->claimed;
    view.reason = offered ? WhyView::Reason::kClaim : WhyView::Reason::kNotWaiting;
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
  if (!view.shortages.empty()) {
    add_holders(lease, view, at);
    add_remedies(lease, view);
  }
  if (view.ahead_count <= kProjectedMax && may_grant()) {
    Projection projection(state, ledger, at.instant);
    for (const LeaseId id : queued.order) {
      const Instant start = projection.start(state.find(id)->request);
      if (id != lease.id) continue;
      if (start != Instant::never()) view.expected_start = wall_at(start, at);
      break;
    }
  }
  const auto comes = turn_comes.find(lease.id);
  if (comes != turn_comes.end()) view.expected_start = wall_at(comes->second, at);
  return view;
}

WhyView::Reason Coordinator::Impl::reason_of(const Lease& lease, const WhyView& view) const {
  using Reason = WhyView::Reason;
  if (!may_grant()) return Reason::kStopped;
  if (!observed.at(lease.id).connected) return Reason::kNotReconnected;
  if (lease.waiting()->parked_since) return Reason::kParked;
  if (view.shortages.empty()) return Reason::kDriver;
  if (!user_has_room(lease)) return Reason::kUserLimit;
  const Account& best = *ledger.find(view.shortages.front().device);
  if (fits_now(best, lease.request, settings.exclusive_external_max)) {
    const bool passed_enough = std::ranges::any_of(view.ahead, [&](LeaseId id) {
      const Waiting* ahead = state.find(id)->waiting();
      return ahead->passed_since && *ahead->passed_since + settings.pass_max <= now.instant;
    });
    return passed_enough ? Reason::kPassed : Reason::kTurn;
  }
  if (best.overcommitted()) return Reason::kOvercommitted;
  Bytes releasing;
  for (const auto& [id, entry] : best.entries) {
    if (state.find(id)->releasing() != nullptr) releasing += entry.charge;
  }
  const bool only_releasing =
      releasing > Bytes{} &&
      (wants_whole(lease.request) ? releasing == best.charged
                                  : lease.request.vram <= best.grantable() + releasing);
  if (only_releasing) return Reason::kProbing;
  const Bytes without_strangers = saturating_sub(
      saturating_sub(best.capacity, std::max(best.reserve, best.driver)), best.charged);
  if (wants_whole(lease.request)) {
    return best.entries.empty() ? Reason::kStrangers : Reason::kExclusive;
  }
  if (best.exclusive_count > 0) return Reason::kExclusive;
  const bool in_turns = lease.request.share == Share::kSlice;
  if (in_turns && fits_without_slices(best, lease)) return Reason::kSlices;
  if (lease.request.vram <= without_strangers) return Reason::kStrangers;
  return Reason::kMemory;
}

void Coordinator::Impl::add_holders(const Lease& lease, WhyView& view, Now at) const {
  (void)lease;
  const Account& best = *ledger.find(view.shortages.front().device);
  for (const auto& [id, entry] : best.entries) {
    const Lease& holder = *state.find(id);
    const Instant end = expected_end(holder, entry.told_end, at.instant);
    view.holders.push_back(
        {.lease = id,
         .user = holder.user,
         .name = holder.request.name,
         .charged = entry.charge,
         .expected_end = end == Instant::never() ? std::nullopt : std::optional(wall_at(end, at))});
  }
  std::ranges::stable_sort(view.holders, std::greater{}, &Holder::charged);
  if (view.holders.size() > limits::kWhyListed) view.holders.resize(limits::kWhyListed);
}

void Coordinator::Impl::add_remedies(const Lease& lease, WhyView& view) const {
  const Shortage& best = view.shortages.front();
  if (best.missing == Bytes{}) return;
  Bytes most;
  for (const Shortage& shortage : view.shortages) most = std::max(most, shortage.grantable);
  if (!wants_whole(lease.request) && most >= settings.context_estimate && view.ahead.empty()) {
    view.remedies.push_back({.kind = Remedy::Kind::kAskLess, .bytes = most});
  }
  std::size_t listed = 0;
  for (const Holder& holder : view.holders) {
    if (listed == 3) break;
    const Lease& other = *state.find(holder.lease);
    if (other.held() == nullptr) continue;
    const bool makes_room = holder.charged >= best.missing;
    if (makes_room) {
      view.remedies.push_back({.kind = Remedy::Kind::kPauseLease, .lease = holder.lease});
      ++listed;
    }
    const auto use = observed.at(holder.lease).use.find(best.device);
    if (use == observed.at(holder.lease).use.end() || wants_whole(lease.request)) continue;
    const Bytes peak = std::max(use->second.highest(), settings.context_estimate);
    if (saturating_sub(holder.charged, peak) >= best.missing) {
      view.remedies.push_back(
          {.kind = Remedy::Kind::kShrinkLease, .lease = holder.lease, .bytes = peak});
    }
  }
  Request anywhere = lease.request;
  anywhere.devices.clear();
  if (lease.request.devices.size() != 1) return;
  for (const Account& account : ledger.accounts()) {
    if (!fits_now(account, anywhere, settings.exclusive_external_max)) continue;
    view.remedies.push_back({.kind = Remedy::Kind::kOtherDevice, .device = account.id});
    break;
  }
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
  for (const Account& account : ledger.accounts()) {
    if (is_eligible(account, request)) view.largest = std::max(view.largest, account.grantable());
  }
  view.shortages = shortages_of(ledger, request);
  return view;
}

}  // namespace berth::core
