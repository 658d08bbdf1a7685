// SPDX-License-Identifier: Apache-2.0
#include "core/backfill.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/limits.h"
#include "core/placement.h"
#include "core/queue.h"

namespace berth::core {
namespace {

struct Leaving {
  Instant at;
  Bytes charge;
  bool exclusive;
};

// In the order of their ends; those of which it is not known are left out.
std::vector<Leaving> leaving(const Account& account, const State& state, Instant now,
                             const Extra& extra) {
  std::vector<Leaving> ends;
  for (const auto& [id, entry] : account.entries) {
    const Lease* lease = state.find(id);
    const Instant at = lease == nullptr ? now : expected_end(*lease, entry.reported_end, now);
    if (at == Instant::never()) continue;
    const Bytes charge = entry.charge + (id == extra.lease ? extra.bytes : Bytes{});
    ends.push_back({at, charge, entry.exclusive});
  }
  std::ranges::sort(ends, {}, &Leaving::at);
  return ends;
}

Bytes available(const Account& account) {
  return saturating_sub(account.capacity, account.held_back());
}

// What is still charged at `at`, as far as ends are known.
Bytes charged_at(const Account& account, const State& state, Instant at, Instant now,
                 const Extra& extra) {
  Bytes sum;
  for (const auto& [id, entry] : account.entries) {
    const Lease* lease = state.find(id);
    if (lease == nullptr || expected_end(*lease, entry.reported_end, now) <= at) continue;
    sum += entry.charge + (id == extra.lease ? extra.bytes : Bytes{});
  }
  return sum;
}

// What was granted past the request since it was queued, and the lease's own part if it grows.
Bytes passed_sum(const Account& account, const State& state, const Lease& waiting) {
  Bytes sum;
  for (const auto& [id, entry] : account.entries) {
    const Lease* lease = state.find(id);
    const Held* held = lease == nullptr ? nullptr : lease->granted();
    if (held == nullptr) continue;
    const bool passed =
        held->granted.passed_others && held->granted.sequence > waiting.queued_sequence;
    if (passed || id == waiting.id) sum += entry.charge;
  }
  return sum;
}

// What was expected and has passed takes twice as long, or longer.
Instant doubled(Instant from, Duration expected, Instant now) {
  Duration takes = std::max(expected, milliseconds(1));
  while (from + takes <= now && takes < Duration::max()) takes = takes + takes;
  return from + takes;
}

// A lease that was told to end does so soon, or gets a SIGKILL.
Instant end_of(const Revocation& revocation, Instant now) {
  return std::min(doubled({revocation.kill_at.ns - limits::kKillAfter.ns}, {}, now),
                  revocation.kill_at);
}

}  // namespace

Instant expected_end(const Lease& lease, const std::optional<ReportedEnd>& reported, Instant now) {
  if (lease.is_outlived()) {
    const std::optional<Revocation>& told_to = lease.releasing()->was.revoked;
    return told_to && told_to->kill_at > now ? end_of(*told_to, now) : Instant::never();
  }
  // Its memory is free any moment. Were that guessed late, others would pass meanwhile.
  if (const Releasing* gone = lease.releasing()) {
    return std::min(doubled(gone->since, {}, now), gone->since + limits::kReleasingMax);
  }
  const Held* held = lease.held();
  if (held == nullptr) return Instant::never();
  Instant end = Instant::never();
  if (held->revoked) end = end_of(*held->revoked, now);
  if (held->expires) end = std::min(end, held->expires->at);
  if (held->suspension) return end;  // The time that it has left begins when it runs again.
  const Instant began = held->granted.at + held->away;
  if (lease.request.limit) end = std::min(end, began + *lease.request.limit);
  if (reported)
    return std::min(end, doubled(std::max(reported->at, held->runs_since), reported->left, now));
  if (const auto eta = lease.request.eta; eta && eta->ns > 0) {
    end = std::min(end, doubled(began, *eta, now));
  }
  return end;
}

Instant earliest_fit(const Account& account, const Request& request, const State& state,
                     Instant now, const Extra& extra) {
  if (!account.seen || !fits_ever(account, request)) return Instant::never();
  const bool whole = request.share == Share::kExclusive;
  const Bytes room = available(account);
  Bytes charged = account.charged + extra.bytes;
  std::size_t left = account.entries.size();
  std::uint32_t exclusive = account.exclusive_count;
  const auto fits = [&] {
    return whole ? left == 0 : exclusive == 0 && charged + request.vram <= room;
  };
  if (fits()) return now;
  for (const Leaving& next : leaving(account, state, now, extra)) {
    charged = saturating_sub(charged, next.charge);
    exclusive -= next.exclusive ? 1U : 0U;
    --left;
    if (fits()) return next.at;
  }
  return Instant::never();
}

Walk::Walk(const State& state, const Ledger& ledger, const Settings& settings, Instant now,
           bool full)
    : state_(state), ledger_(ledger), settings_(settings), now_(now), full_(full) {
  rules_.resize(ledger.accounts().size());
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    rules_[i].closed = !ledger.accounts()[i].seen;
    open_ += rules_[i].closed ? 0U : 1U;
  }
  unreserved_ = open_;
  update_bounds();
}

void Walk::update_bounds() {
  left_ = {};
  whole_left_ = false;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].closed) continue;
    const Account& account = ledger_.accounts()[i];
    const std::optional<Reservation>& reserved = rules_[i].waiting;
    const bool outlasted = !reserved || (reserved->at != Instant::never() && reserved->at > now_);
    const Bytes grantable = account.grantable();
    left_ = std::max(left_, outlasted ? grantable : std::min(grantable, reserved->room));
    whole_left_ |= outlasted && account.entries.empty();
  }
}

std::optional<std::vector<Part>> Walk::place(const Request& request, LeaseId requester) const {
  std::vector<const Account*> usable;
  usable.reserve(ledger_.accounts().size());
  for (const Account& account : ledger_.accounts()) {
    if (may_use(account, request, requester)) usable.push_back(&account);
  }
  return berth::core::place(request, std::move(usable));
}

bool Walk::is_others_turn(DeviceId device, LeaseId requester) const {
  const auto next = next_turns_.find(device);
  return next != next_turns_.end() && next->second != requester;
}

bool Walk::may_take_turn(const Lease& lease) const {
  if (lease.request.share != Share::kSlice) return true;
  const auto next = next_turns_.find(lease.held()->parts.front().device);
  return next != next_turns_.end() && next->second == lease.id;
}

bool Walk::may_use(const Account& account, const Request& request, LeaseId requester) const {
  if (!fits_now(account, request, settings_.exclusive_unmanaged_max)) return false;
  if (!is_eligible(account, request)) return false;
  const auto index = static_cast<std::size_t>(&account - ledger_.accounts().data());
  const Rule& rule = rules_[index];
  if (rule.closed) return false;
  if (rule.waiting && !leaves_room(request, *rule.waiting)) return false;
  const bool in_turns = request.share == Share::kSlice;
  if (in_turns && is_others_turn(account.id, requester)) return false;
  return !rule.growing || (in_turns && rule.growing_in_turns) ||
         request.priority > rule.growing_priority || leaves_room(request, *rule.growing);
}

bool Walk::leaves_room(const Request& request, const Reservation& reserved) const {
  const bool ends_before =
      request.limit && reserved.at != Instant::never() && now_ + *request.limit <= reserved.at;
  if (ends_before) return true;
  return request.share != Share::kExclusive && request.vram <= reserved.room;
}

// Nothing may pass it any more.
bool Walk::closes(const Lease& lease) const {
  if (!settings_.backfill) return true;
  const Waiting* waiting = lease.waiting();
  return waiting != nullptr && waiting->passed_since &&
         *waiting->passed_since + settings_.pass_max <= now_;
}

Walk::Shape Walk::shape_of(const Request& request) {
  return {.need = Queue::need_of(request),
          .device_count = request.device_count,
          .mixed = request.mixed,
          .priority = request.priority};
}

bool Walk::is_heeded(const Lease& lease) const {
  if (full_ || closes(lease)) return true;
  if (unreserved_ == 0) return false;
  const auto same = std::ranges::find(reserved_shapes_, shape_of(lease.request));
  return !lease.request.devices.empty() || same == reserved_shapes_.end();
}

void Walk::leave_waiting(const Lease& lease) {
  if (!is_heeded(lease)) return;
  if (closes(lease)) {
    close_for(lease.request);
    reserved_shapes_.clear();
  } else {
    reserve(lease);
    if (lease.request.devices.empty()) reserved_shapes_.push_back(shape_of(lease.request));
  }
  update_bounds();
}

void Walk::close_for(const Request& request) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Account& account = ledger_.accounts()[i];
    if (rules_[i].closed || !is_eligible(account, request) || !fits_ever(account, request)) {
      continue;
    }
    rules_[i].closed = true;
    --open_;
    unreserved_ -= rules_[i].waiting ? 0U : 1U;
  }
}

Walk::Reservation Walk::reservation(const Account& account, const Lease& lease, Instant at,
                                    Bytes need, const Extra& extra) const {
  const Bytes still_there = at == Instant::never() ? passed_sum(account, state_, lease)
                                                   : charged_at(account, state_, at, now_, extra);
  // A whole device leaves no room beside it.
  const bool whole = lease.waiting() != nullptr && lease.request.share == Share::kExclusive;
  const Bytes room = whole ? Bytes{} : saturating_sub(available(account), still_there + need);
  return {.lease = lease.id, .at = at, .room = room};
}

Extra Walk::growth_ahead(const Rule& rule, const Request& request) {
  if (!rule.growing || request.priority > rule.growing_priority) return {};
  return {.lease = rule.growing->lease, .bytes = rule.growing_by};
}

// The devices on which the request fits first; those of unknown end by how little is passed there.
void Walk::reserve(const Lease& lease) {
  const Request& request = lease.request;
  const std::size_t count = device_count(request);
  const bool one_model = wants_one_model(request);
  struct Choice {
    std::string_view model;  // Empty where any will do: one group then.
    Instant at;
    std::size_t index;
  };
  std::vector<Choice> choices;
  choices.reserve(rules_.size());
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Account& account = ledger_.accounts()[i];
    if (rules_[i].closed || !is_eligible(account, request) || !fits_ever(account, request)) {
      continue;
    }
    const Instant at =
        earliest_fit(account, request, state_, now_, growth_ahead(rules_[i], request));
    choices.push_back({one_model ? std::string_view(account.model) : std::string_view(), at, i});
  }
  std::ranges::sort(choices, {}, [](const Choice& c) { return std::tie(c.model, c.at, c.index); });
  std::span<const Choice> best;
  for (std::size_t first = 0; first + count <= choices.size(); ++first) {
    const std::span group = std::span(choices).subspan(first, count);
    const bool begins = first == 0 || choices[first - 1].model != group.front().model;
    if (!begins || group.back().model != group.front().model) continue;
    if (best.empty() || group.back().at < best.back().at) best = group;
  }
  for (const Choice& choice : best) {
    Rule& rule = rules_[choice.index];
    if (rule.waiting) continue;
    rule.waiting = reservation(ledger_.accounts()[choice.index], lease, best.back().at,
                               request.vram, growth_ahead(rule, request));
    --unreserved_;
  }
}

void Walk::leave_growing(const Lease& lease) {
  const Held* held = lease.held();
  if (held == nullptr || (!held->growth && !held->is_swapped_out())) return;
  for (const Part& part : held->parts) {
    const Account* account = ledger_.find(part.device);
    if (account == nullptr) continue;
    const auto index = static_cast<std::size_t>(account - ledger_.accounts().data());
    Rule& rule = rules_[index];
    if (rule.closed || rule.growing) continue;
    Request extra = lease.request;
    extra.share = Share::kBudget;
    extra.vram = held->growth ? saturating_sub(held->growth->vram, part.budget) : part.budget;
    const Instant at = earliest_fit(*account, extra, state_, now_);
    rule.growing = reservation(*account, lease, at, extra.vram);
    rule.growing_priority = lease.request.priority;
    rule.growing_in_turns = lease.request.share == Share::kSlice && !held->growth;
    rule.growing_by = extra.vram;
  }
}

std::optional<Instant> Walk::reserved_at(LeaseId lease) const {
  for (const Rule& rule : rules_) {
    if (rule.waiting && rule.waiting->lease == lease) return rule.waiting->at;
    if (rule.growing && rule.growing->lease == lease) return rule.growing->at;
  }
  return std::nullopt;
}

}  // namespace berth::core
