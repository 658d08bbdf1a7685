// SPDX-License-Identifier: Apache-2.0
#include "core/views.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/backfill.h"
#include "model/set_member.h"

namespace berth::core {
namespace {

constexpr std::size_t kPrefixMin = 3;

}  // namespace

std::optional<UnixMs> pause_end(const Held& held, Now now) {
  return held.pause_ends ? std::optional(wall_at(*held.pause_ends, now)) : std::nullopt;
}

// Of a device that is there now.
void Views::add_indices(LeaseView& view) const {
  for (LeasePart& part : view.parts) {
    const Account* account = ledger_->find(part.device);
    if (account != nullptr && account->seen) part.index = account->index;
  }
}

Instant Views::expected_end_of(const Lease& lease, Instant at) const {
  return expected_end(lease, progress_->end(lease.id), at);
}

LeaseView Views::lease(LeaseId id, Now at) const {
  const Lease* lease = core_->state().find(id);
  if (lease == nullptr) {
    const LeaseView* gone = core_->state().find_ended(id);
    LeaseView view = gone == nullptr ? LeaseView{} : *gone;
    add_indices(view);
    return view;
  }
  LeaseView view = survivor_view(*lease);
  add_indices(view);
  const Held* held = lease->held();
  view.flags.over_budget = attribution_->is_over_budget(id);
  view.flags.full = attribution_->is_full(id) && held != nullptr;
  view.flags.degraded = devices_->is_degraded(id);
  view.pressure = pressure_->of(id);
  view.full_in = pressure_->full_in(id);
  view.progress = progress_->last(id);
  const std::set<std::int32_t>& left_alone = left_alone_->pids(id);
  view.left_alone.assign(left_alone.begin(), left_alone.end());
  view.halt = halt_of(*lease, at);
  if (const auto since = idle_->since(id)) view.idle_since = wall_at(*since, at);
  if (view.pause && held != nullptr) view.pause->until = pause_end(*held, at);
  if (view.retries) view.retries->next = next_attempt_of(*lease);
  const bool comes_back = berth::next_attempt_of(view) || requeuing_->goes_on_after_boot(*lease);
  if (comes_back && lease->waiting() == nullptr) {
    view.requeue = RequeueStep::kStopped;
  }
  view.flags.requeuing = view.requeue.has_value();
  add_use(*lease, view);
  view.strays = unmanaged_->strays_of(id);
  view.flags.astray = !view.strays.empty();
  if (lease->waiting() != nullptr) {
    view.waited = lease->waited_before + (at.instant - lease->queued_at);
  }
  if (held != nullptr && held->revoked) view.result = held->revoked->result;
  if (const Releasing* releasing = lease->releasing()) {
    // Lost is what a lease is as long as nobody has said how its command ended.
    if (releasing->result != EndResult::kLost) view.result = releasing->result;
  }
  const Instant turn_ends = slices_->due(*lease);
  if (turn_ends != Instant::never()) view.turn_ends_at = wall_at(turn_ends, at);
  const Instant end = expected_end_of(*lease, at.instant);
  if (held != nullptr && end != Instant::never()) view.expected_end = wall_at(end, at);
  return view;
}

// While its memory is freed, and then while it waits.
std::optional<Retry> Views::next_attempt_of(const Lease& lease) const {
  const std::optional<UnixMs>& start = lease.request.not_before;
  if (lease.waiting() == nullptr) return requeuing_->retry_of(lease);
  if (!lease.retries.failed || !start) return std::nullopt;
  return Retry{*start, lease.retries.grown ? std::optional(lease.request.vram) : std::nullopt};
}

void Views::add_use(const Lease& lease, LeaseView& view) const {
  for (LeasePart& part : view.parts) {
    if (const Use* use = attribution_->use(lease.id, part.device)) {
      part.used = use->now;
      part.gpu_utilization = use->gpu_utilization;
      part.peak = use->highest();
      part.ledger = use->ledger;
      part.drift = use->drift;
      if (part.ledger) {
        part.refused = use->refused;
        part.wanted = use->wanted;
      }
    }
    // Looked at, and none of its processes is there: that is a figure, and it is 0.
    const KnownDevice* last = devices_->find(part.device);
    const bool is_listed = last != nullptr && last->lists_processes && !last->asleep &&
                           last->sampled_at >= lease.granted()->granted.at;
    if (is_listed && !part.used) {
      part.used = Bytes{};
      part.peak = part.peak.value_or(Bytes{});
    }
  }
}

std::vector<LeaseView> Views::ended() const {
  std::vector<LeaseView> views;
  views.reserve(core_->state().ended().size());
  for (const LeaseView& view : core_->state().ended()) add_indices(views.emplace_back(view));
  return views;
}

std::optional<LeaseId> Views::find(Handle handle) const {
  if (const std::optional<LeaseId> live = core_->state().find(handle)) return live;
  const auto& ended = core_->state().ended();
  const auto found = std::ranges::find(ended, handle, &LeaseView::handle);
  return found == ended.end() ? std::nullopt : std::optional(found->id);
}

// Where one was asked for again, the last.
std::optional<LeaseId> Views::find(SetMember member) const {
  for (const auto& [id, lease] : core_->state().leases()) {
    if (lease.request.member == member) return id;
  }
  const auto& ended = core_->state().ended();
  const auto found = std::find_if(ended.rbegin(), ended.rend(), [&](const LeaseView& view) {
    return view.request.member == member;
  });
  return found == ended.rend() ? std::nullopt : std::optional(found->id);
}

// A whole match beats prefixes, and live leases beat ended ones. Of several live ones with one name
// one's own is meant, an admin's are everybody's; of ended ones with one name the youngest.
std::variant<LeaseId, Refusal> Views::find(std::string_view text, Actor actor) const {
  Refusal none{RefusalCode::kNotFound,
               "there is no lease '" + std::string(text) + "' (berth ps -a lists them)"};
  const bool number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (const std::optional<SetMember> member = parse_set_member(text)) {
    const std::optional<LeaseId> id = find(*member);
    return id ? std::variant<LeaseId, Refusal>(*id) : none;
  }
  if (number) {
    if (text.size() > 18) return none;
    const LeaseId id{std::stoull(std::string(text))};
    const bool known =
        core_->state().find(id) != nullptr || core_->state().find_ended(id) != nullptr;
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
  for (const LeaseView& view : core_->state().ended()) {
    look(view, view.request.name, past);
  }
  if (!own.empty()) exact = std::exchange(own, {});
  if (!exact.empty()) past = {std::ranges::max(exact)};
  exact.clear();
  for (const auto& [id, lease] : core_->state().leases()) {
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

std::vector<DeviceView> Views::devices(Now at) const {
  std::vector<DeviceView> views;
  for (const Account& account : ledger_->accounts()) views.push_back(device(account, at));
  return views;
}

DeviceView Views::device(const Account& account, Now at) const {
  DeviceView view;
  view.id = account.id;
  view.index = account.index;
  view.model = account.model;
  view.lost = !account.seen;
  view.overcommitted = account.overcommitted();
  if (const KnownDevice* device = devices_->find(account.id)) {
    view.pci_bus = device->pci_bus;
    view.asleep = device->asleep;
    view.trouble = device->trouble;
    view.capacity = account.capacity;
    view.unmanaged_processes = attribution_->unmanaged_on(account.id);
    view.pressure = pressure_->on(account.id);
    if (device->sampled_at) view.sample_age = at.instant - *device->sampled_at;
    const bool current = account.seen && devices_->trouble().empty() && !view.asleep;
    if (current) {
      view.used = device->used;
      view.figures = device->figures;
      view.unmanaged = account.unmanaged;
      view.ignored = account.ignored;
      view.lists_processes = device->lists_processes;
      view.owed = pressure_->owed(account.id);
    }
  }
  view.reserve = account.reserve;
  view.held_back = account.held_back();
  view.charged = account.charged;
  view.granted = account.granted;
  view.grantable = account.grantable();
  for (const auto& [id, entry] : account.entries) view.leases.push_back(id);
  return view;
}

}  // namespace berth::core
