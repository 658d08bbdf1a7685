// SPDX-License-Identifier: Apache-2.0
// Answers about leases and devices.
#include <algorithm>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "core/backfill.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

constexpr std::size_t kPrefixMin = 3;

}  // namespace

// Of a device that is there now.
LeaseView Coordinator::Impl::with_indices(LeaseView view) const {
  for (LeasePart& part : view.parts) {
    const Account* account = ledger.find(part.device);
    if (account != nullptr && account->seen) part.index = account->index;
  }
  return view;
}

LeaseView Coordinator::Impl::view(LeaseId id, Instant at, UnixMs wall) const {
  const Lease* lease = state.find(id);
  if (lease == nullptr) {
    const LeaseView* gone = state.find_ended(id);
    return gone == nullptr ? LeaseView{} : with_indices(*gone);
  }
  LeaseView view = with_indices(survivor_view(*lease));
  const Observed& seen = observed.at(id);
  view.flags.over_budget = seen.over_budget;
  view.flags.full = seen.full && lease->held() != nullptr;
  view.flags.degraded = seen.degraded;
  view.pressure = seen.pressure_state.level();
  view.full_in = seen.full_in;
  if (seen.progress) view.progress = seen.progress->last;
  view.left_alone.assign(seen.left_alone.begin(), seen.left_alone.end());
  view.halt = halt_of(*lease, {at, wall});
  if (const Held* held = lease->held(); view.pause && held != nullptr) {
    view.pause->until = pause_end(*held, {at, wall});
  }
  for (LeasePart& part : view.parts) {
    const auto last = seen_devices.find(part.device);
    const auto use = seen.use.find(part.device);
    if (use != seen.use.end()) {
      part.used = use->second.now;
      part.peak = use->second.highest();
      part.ledger = use->second.ledger;
      part.drift = use->second.drift;
      if (part.ledger) {
        part.refused = use->second.refused;
        part.wanted = use->second.wanted;
      }
    }
    // Looked at, and none of its processes is there: that is a figure, and it is 0.
    const bool is_listed = last != seen_devices.end() && last->second.lists_processes &&
                           !last->second.asleep &&
                           last->second.sampled_at >= lease->granted()->granted_at;
    if (is_listed && !part.used) {
      part.used = Bytes{};
      part.peak = part.peak.value_or(Bytes{});
    }
  }
  if (const auto found = strays.find(id); found != strays.end()) view.strays = found->second;
  view.flags.astray = !view.strays.empty();
  if (lease->waiting() != nullptr) view.waited = lease->waited_before + (at - lease->queued_at);
  if (const Held* held = lease->held(); held != nullptr && held->revoked) {
    view.result = held->revoked->result;
  }
  if (const Releasing* releasing = lease->releasing()) {
    // Lost is what a lease is as long as nobody has said how its command ended.
    if (releasing->result != EndResult::kLost) view.result = releasing->result;
  }
  if (seen.turn_over != Instant::never()) view.turn_ends_at = wall_at(seen.turn_over, {at, wall});
  const Instant end = expected_end(*lease, seen.reported_end(), at);
  if (lease->held() != nullptr && end != Instant::never()) {
    view.expected_end = wall_at(end, {at, wall});
  }
  return view;
}

const Coordinator::Impl::OrderCache& Coordinator::Impl::order(Instant at) const {
  // Shares change with every grant and end; all else that counts, with the queue alone.
  const std::uint64_t current = settings.order == Order::kFair ? version : queue_version;
  const bool fresh =
      order_cache && order_cache->version == current && at - order_cache->at < seconds(1);
  if (fresh) return *order_cache;
  if (!order_cache) order_cache = OrderCache();
  OrderCache& cache = *order_cache;  // Made anew often: its memory is kept.
  cache.version = current;
  cache.at = at;
  cache.order.clear();
  cache.places.clear();
  InOrder waiting(queue, at, settings, state.shares());
  while (const Lease* lease = waiting.next()) {
    cache.order.push_back(lease->id);
    cache.places.emplace_back(lease->id, static_cast<std::uint32_t>(cache.order.size()));
  }
  if (!std::ranges::is_sorted(cache.places)) std::ranges::sort(cache.places);
  return cache;
}

std::optional<std::uint32_t> Coordinator::Impl::OrderCache::position(LeaseId id) const {
  const auto found = std::ranges::lower_bound(places, std::pair(id, 0U));
  return found != places.end() && found->first == id ? std::optional(found->second) : std::nullopt;
}

std::vector<LeaseView> Coordinator::leases(Now now) const {
  std::vector<LeaseView> views;
  views.reserve(impl_->state.leases().size());
  const auto& order = impl_->order(now.instant);
  for (const auto& [id, lease] : impl_->state.leases()) {
    views.push_back(impl_->view(id, now.instant, now.wall));
    views.back().queue_position = order.position(id);
  }
  return views;
}

std::vector<LeaseView> Coordinator::ended(Now) const {
  std::vector<LeaseView> views;
  views.reserve(impl_->state.ended().size());
  for (const LeaseView& view : impl_->state.ended()) views.push_back(impl_->with_indices(view));
  return views;
}

std::optional<LeaseView> Coordinator::lease(LeaseId id, Now now) const {
  const Lease* lease = impl_->state.find(id);
  if (lease == nullptr && impl_->state.find_ended(id) == nullptr) return std::nullopt;
  LeaseView view = impl_->view(id, now.instant, now.wall);
  if (lease != nullptr && lease->waiting() != nullptr) {
    view.queue_position = impl_->order(now.instant).position(id);
  }
  return view;
}

std::optional<LeaseId> Coordinator::find(Handle handle) const {
  if (const auto found = impl_->by_handle.find(handle); found != impl_->by_handle.end()) {
    return found->second;
  }
  const auto& ended = impl_->state.ended();
  const auto found = std::ranges::find(ended, handle, &LeaseView::handle);
  return found == ended.end() ? std::nullopt : std::optional(found->id);
}

// A whole match beats prefixes, and live leases beat ended ones. Of several live ones with one name
// one's own is meant, an admin's are everybody's; of ended ones with one name the youngest.
std::variant<LeaseId, Refusal> Coordinator::find(std::string_view text, Actor actor) const {
  Refusal none{RefusalCode::kNotFound,
               "there is no lease '" + std::string(text) + "' (berth ps -a lists them)"};
  const bool number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (number) {
    if (text.size() > 18) return none;
    const LeaseId id{std::stoull(std::string(text))};
    const bool known = impl_->state.find(id) != nullptr || impl_->state.find_ended(id) != nullptr;
    return known ? std::variant<LeaseId, Refusal>(id) : none;
  }
  // As programs ask, and often; no name begins as a handle does.
  if (const std::optional<Handle> handle = parse_handle(text)) {
    const std::optional<LeaseId> known = find(*handle);
    return known ? std::variant<LeaseId, Refusal>(*known) : none;
  }
  const bool may_begin_handle = text.size() > kPrefixMin && text.starts_with("l_");
  std::vector<LeaseId> live;
  std::vector<LeaseId> past;
  std::vector<LeaseId> exact;
  std::vector<LeaseId> own;
  const auto look = [&](const auto& lease, const std::string& name, std::vector<LeaseId>& matches) {
    if (name == text) (lease.user == actor.user && !actor.admin ? own : exact).push_back(lease.id);
    const bool knows = actor.admin || lease.user == actor.user;
    const bool begins = may_begin_handle && knows && to_text(lease.handle).starts_with(text);
    const bool prefix = text.size() >= kPrefixMin && (name.starts_with(text) || begins);
    if (prefix) matches.push_back(lease.id);
  };
  for (const LeaseView& view : impl_->state.ended()) {
    look(view, view.request.name, past);
  }
  if (!own.empty()) exact = std::exchange(own, {});
  if (!exact.empty()) past = {std::ranges::max(exact)};
  exact.clear();
  for (const auto& [id, lease] : impl_->state.leases()) {
    look(lease, lease.request.name, live);
  }
  if (!own.empty()) exact = std::move(own);
  const bool by_name = !exact.empty();
  if (by_name) live = std::move(exact);
  const std::vector<LeaseId>& matches = live.empty() ? past : live;
  if (matches.empty()) return none;
  if (matches.size() == 1) return matches.front();
  std::string listed;
  for (const LeaseId id : matches) {
    if (listed.size() < 60) listed += (listed.empty() ? "" : ", ") + std::to_string(id.value);
  }
  return Refusal{RefusalCode::kAmbiguous, "'" + std::string(text) + "' " +
                                              (by_name ? "names" : "fits") +
                                              " several leases: " + listed + "; say which number"};
}

std::vector<DeviceView> Coordinator::devices(Now now) const {
  std::vector<DeviceView> views;
  for (const Account& account : impl_->ledger.accounts()) {
    DeviceView view;
    view.id = account.id;
    view.index = account.index;
    view.model = account.model;
    view.lost = !account.seen;
    view.overcommitted = account.overcommitted();
    if (const auto last = impl_->seen_devices.find(account.id); last != impl_->seen_devices.end()) {
      const KnownDevice& device = last->second;
      view.pci_bus = device.pci_bus;
      view.asleep = device.asleep;
      view.trouble = device.trouble;
      view.capacity = account.capacity;
      view.unmanaged_processes = device.unmanaged_processes;
      view.pressure = device.pressure_state.level();
      if (device.sampled_at) view.sample_age = now.instant - *device.sampled_at;
      const bool current = account.seen && impl_->trouble.empty() && !view.asleep;
      if (current) {
        view.used = device.used;
        view.driver_reserved = device.driver_reserved;
        view.unmanaged = account.unmanaged;
        view.ignored = account.ignored;
        view.lists_processes = device.lists_processes;
        view.owed = device.owed;
      }
    }
    view.reserve = account.reserve;
    view.held_back = account.held_back();
    view.charged = account.charged;
    view.granted = account.granted;
    view.grantable = account.grantable();
    for (const auto& [id, entry] : account.entries) view.leases.push_back(id);
    views.push_back(std::move(view));
  }
  return views;
}

Bytes Coordinator::context_cost(UserId user, DeviceId device) const {
  return impl_->context_cost(user, device);
}

std::vector<LeaseId> Coordinator::queue(Now now) const {
  return impl_->order(now.instant).order;
}

std::optional<WhyView> Coordinator::why(LeaseId id, Now now) const {
  if (const Lease* lease = impl_->state.find(id)) return impl_->why(*lease, now);
  if (impl_->state.find_ended(id) == nullptr) return std::nullopt;
  WhyView view;
  view.id = id;
  view.state = LeaseState::kEnded;
  return view;
}

std::variant<FitView, Refusal> Coordinator::fit(const Request& request, Actor actor,
                                                Now now) const {
  return impl_->fit(request, actor, now);
}

std::uint64_t Coordinator::ledger_version() const {
  return impl_->version;
}

std::vector<Handle> Coordinator::settling() const {
  std::vector<Handle> handles;
  for (const LeaseId id : impl_->settling) handles.push_back(impl_->state.find(id)->handle);
  return handles;
}

Priority Coordinator::priority_max(UserId user) const {
  return impl_->limits_of(user).priority_max;
}

std::string Coordinator::trouble() const {
  return impl_->trouble;
}

void Coordinator::check_everything() const {
  impl_->check_everything();
}

// Recounts from nothing what reindex() keeps by hand.
void Coordinator::Impl::check_everything() const {
  ledger.check();
  std::map<UserId, UserCount> recount;
  std::size_t waiting = 0;
  std::size_t want_turns = 0;
  for (const auto& [id, lease] : state.leases()) {
    const Observed& seen = observed.at(id);
    CHECK(seen.place.has_value() == (lease.waiting() != nullptr));
    CHECK(seen.deadline == deadline_of(lease, seen));
    CHECK(seen.deadline == Instant::never() || timers.contains({seen.deadline, id}));
    CHECK(by_handle.at(lease.handle) == id);
    waiting += lease.waiting() != nullptr ? 1U : 0U;
    CHECK(seen.turn_place.has_value() == wants_turn(lease));
    CHECK(!seen.turn_place || seen.turn_place->sequence == lease.waits_sequence());
    want_turns += seen.turn_place ? 1U : 0U;
    UserCount& count = recount[lease.user];
    count.waiting += lease.waiting() != nullptr ? 1U : 0U;
    if (const Held* held = lease.held()) {
      count.held += 1;
      for (const Part& part : held->parts) {
        count.vram += part.budget;
        if (held->is_swapped_out()) continue;
        const Entry& entry = ledger.find(part.device)->entries.at(id);
        CHECK(entry.budget == part.budget);
      }
    }
  }
  CHECK(waiting == queue.size());
  CHECK(want_turns == turns.size());
  CHECK(observed.size() == state.leases().size());
  for (const auto& [user, count] : recount) {
    if (count.waiting == 0 && count.held == 0) continue;
    const UserCount& kept = users.at(user);
    CHECK(kept.waiting == count.waiting && kept.held == count.held && kept.vram == count.vram);
  }
  for (const Account& account : ledger.accounts()) {
    for (const auto& [id, entry] : account.entries) {
      const Lease* lease = state.find(id);
      CHECK(lease != nullptr && lease->granted() != nullptr);
    }
  }
}

}  // namespace berth::core
