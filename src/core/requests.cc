// SPDX-License-Identifier: Apache-2.0
// Events of requesters: they ask, come back, claim, set aside, hang up.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "base/size_argument.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

bool is_good_name(const std::string& name) {
  if (name.empty()) return true;
  const bool reserved =
      (name[0] >= '0' && name[0] <= '9') || name[0] == '@' || name.starts_with("l_");
  const bool printable = std::ranges::all_of(
      name, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
  return !reserved && printable && name.size() <= limits::kNameMax;
}

Refusal invalid(std::string message) {
  return {RefusalCode::kInvalid, std::move(message)};
}

// "15.5G", "15872M": as -m takes it, and no more than there is.
std::string as_argument(Bytes size) {
  const std::uint64_t whole_mib = size.value >> 20U;
  if (whole_mib % 512 != 0) return std::to_string(whole_mib) + "M";
  return std::to_string(whole_mib / 1024) + (whole_mib % 1024 == 0 ? "G" : ".5G");
}

// Everybody's first try is the size that is printed on the card.
std::string kept_text(Bytes asked, Bytes largest, Bytes kept) {
  if (kept == Bytes{} || largest < mib(1) || asked > largest + kept) return {};
  return ", because " + to_text(kept) + " of it are kept in reserve: -m " + as_argument(largest) +
         ", or -x for the whole GPU";
}

}  // namespace

Bytes Coordinator::Impl::context_cost(UserId user, DeviceId device) const {
  const auto known = contexts.find({user, device});
  return known == contexts.end() ? settings.context_estimate : known->second;
}

Bytes Coordinator::Impl::dearest_context(const Lease& lease) const {
  Bytes most;
  for (const Part& part : lease.granted()->parts) {
    most = std::max(most, context_cost(lease.user, part.device));
  }
  return most;
}

Refusal Coordinator::Impl::below_a_context(Bytes asked, Bytes least) {
  return invalid(to_text(asked) +
                 " is below what a CUDA context alone takes here before the first allocation, "
                 "about " +
                 to_text(least) + ": ask for at least " + size_argument_above(least));
}

void Coordinator::Impl::on(const Submit& event) {
  Request request = with_learned_size(event.request, event.actor.user);
  if (std::optional<Refusal> refusal = refuse_request(request, event.actor)) {
    effects.emplace_back(Reply{event.token, *std::move(refusal)});
    return;
  }
  const bool no_wait = request.wait_max && request.wait_max->ns == 0;
  if (no_wait) {
    const std::variant<FitView, Refusal> fits = fit(request, event.actor, now);
    if (const auto* view = std::get_if<FitView>(&fits); view == nullptr || !view->fits) {
      refuse(event.token, RefusalCode::kBusy, shortage_text(request, event.actor.user));
      return;
    }
  }
  const LeaseId id{state.next_id()};
  decide(id,
         RequestQueued{id, event.handle, event.actor.user, event.supervisor, std::move(request)});
  if (seen_devices.empty()) unchecked.insert(id);
  answer(event.token, id);
  asking = id;
  if (!settling.empty()) ask_probe(now.instant);
}

// What it asks for is in its record: what is learnt later changes nothing of it.
Request Coordinator::Impl::with_learned_size(Request request, UserId user) const {
  if (!request.learned) return request;
  const std::optional<Bytes> budget = state.runs().budget_for(user, request.command);
  request.learned = budget.has_value();
  if (budget) {
    if (request.share != Share::kSlice) request.share = Share::kBudget;
    request.vram = *budget;
  }
  return request;
}

void Coordinator::Impl::on(const Reconnect& event) {
  const auto found = by_handle.find(event.handle);
  if (found == by_handle.end()) {
    // An answer that was lost is given again, the last one included.
    const auto ended = std::ranges::find(state.ended(), event.handle, &LeaseView::handle);
    if (ended != state.ended().end() && ended->user == event.actor.user) {
      answer(event.token, ended->id);
      return;
    }
  }
  const Lease* lease = lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const Held* granted = lease->granted();
  const bool stopped = granted != nullptr && granted->is_being_stopped();
  if (event.restarts != lease->restarts + (stopped ? 1U : 0U)) {
    refuse(event.token, RefusalCode::kWrongState,
           text_of(lease->id) + " has been started " + std::to_string(lease->restarts) +
               " times again, and this was said for another run");
    return;
  }
  Observed& seen = observed.at(lease->id);
  seen.connected = true;
  seen.reconnect_until.reset();
  if (lease->held() != nullptr && !lease->held()->claimed) {
    seen.claim_until = now.instant + settings.claim_within;
  }
  if (lease->waiting() != nullptr && lease->waiting()->parked_since) {
    decide(lease->id, RequestParked{lease->id, false});
  }
  answer(event.token, lease->id);
  asking = lease->id;
  dirty = true;
  reindex(lease->id);
  if (stopped) finish_if_free(lease->id);
}

void Coordinator::Impl::on(const Claim& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const Held* held = lease->held();
  const bool again = held != nullptr && held->claimed && held->command == event.command;
  const bool is_old = event.restarts != lease->restarts;
  if (held == nullptr || is_old || (held->claimed && !again) || lease->request.ttl) {
    refuse(event.token, RefusalCode::kWrongState,
           text_of(lease->id) + " cannot be claimed: " +
               (is_old            ? "this was said for another run"
                : held == nullptr ? "it has not been granted, or the offer lapsed"
                                  : "it is claimed already"));
    return;
  }
  if (!again) decide(lease->id, LeaseClaimed{lease->id, event.command});
  answer(event.token, lease->id);
}

void Coordinator::Impl::on(const Join& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const Held* held = lease->held();
  if (held == nullptr || !held->claimed) {
    refuse(event.token, RefusalCode::kWrongState,
           text_of(lease->id) + " is not held: no process can join it");
    return;
  }
  const bool joined = held->members.contains(event.process) || held->command == event.process;
  if (!joined && held->members.size() >= limits::kMembersPerLease) {
    refuse(event.token, RefusalCode::kQueueFull,
           text_of(lease->id) + " has " + std::to_string(limits::kMembersPerLease) +
               " processes already, which is the most that one lease can have");
    return;
  }
  if (!joined) decide(lease->id, MemberSeen{lease->id, event.process});
  answer(event.token, lease->id);
}

void Coordinator::Impl::on(const Park& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.handle);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  const bool offered = lease->held() != nullptr && !lease->held()->claimed;
  if (lease->waiting() == nullptr && !(offered && event.parked)) {
    refuse(event.token, RefusalCode::kWrongState, text_of(id) + " is not waiting");
    return;
  }
  if (offered) {
    lapse(id, true);
  } else if (lease->waiting()->parked_since.has_value() != event.parked) {
    decide(id, RequestParked{id, event.parked});
  }
  answer(event.token, id);
}

void Coordinator::Impl::on(const RequesterGone& event) {
  const Lease* lease = state.find(event.lease);
  if (lease == nullptr) return;
  const bool offered = lease->held() != nullptr && !lease->held()->claimed;
  if (lease->waiting() != nullptr || offered) {
    end_waiting(event.lease, EndResult::kCancelled, {});
  } else if (lease->granted()->is_being_stopped()) {
    nobody_starts_it_again(event.lease);
  }
}

std::optional<Refusal> Coordinator::Impl::refuse_request(const Request& request,
                                                         Actor actor) const {
  if (safe_mode) {
    return Refusal{RefusalCode::kSafeMode,
                   "the daemon is in safe mode and grants nothing: its journal was moved aside "
                   "(see berth doctor)"};
  }
  if (!journal_full_where.empty()) {
    return Refusal{RefusalCode::kDiskFull, "the journal " + journal_full_where +
                                               " cannot be written: free some space there; "
                                               "running leases are not touched"};
  }
  if (auto refusal = refuse_shape(request)) return refusal;
  if (auto refusal = refuse_user(request, actor.user)) return refusal;
  if (auto refusal = refuse_devices(request, actor.user)) return refusal;
  for (const LeaseId id : request.ancestors) {
    const Lease* ancestor = state.find(id);
    if (ancestor == nullptr || ancestor->user == actor.user || actor.admin) continue;
    return Refusal{RefusalCode::kNotYours, "it is asked for inside of " + text_of(id) +
                                               ", which belongs to another user "
                                               "(uid " +
                                               std::to_string(ancestor->user.value) +
                                               "): unset BERTH_LEASE_ID and BERTH_OUTER_LEASES"};
  }
  return refuse_ancestors(request);
}

std::optional<Refusal> Coordinator::Impl::refuse_shape(const Request& request) const {
  if (!is_good_name(request.name)) {
    return invalid("the name '" + request.name.substr(0, limits::kNameMax) +
                   "' cannot be used: at most 64 printable bytes that do not begin with a digit, "
                   "'@' or 'l_'");
  }
  if (request.session.size() > limits::kNameMax || request.labels.size() > limits::kLabelsMax) {
    return invalid("a session name has at most 64 bytes, and a request at most 16 labels");
  }
  for (const auto& [key, value] : request.labels) {
    if (key.empty() || key.size() > limits::kNameMax || value.size() > limits::kNameMax) {
      return invalid("the label '" + key.substr(0, limits::kNameMax) +
                     "' has no key, or more than 64 bytes");
    }
  }
  if (request.command.size() > limits::kCommandMax) {
    return invalid("a command line of " + std::to_string(request.command.size()) +
                   " bytes: it is for people to read, and has at most " +
                   std::to_string(limits::kCommandMax));
  }
  if (request.share == Share::kSlice) {
    if (auto refusal = refuse_slice(request)) return refusal;
  }
  if (auto refusal = refuse_checkpoint_way(request)) return refusal;
  if (request.requeue_grace && request.ttl) {
    return invalid("a reservation has no command that could be started again");
  }
  if (request.requeue_grace &&
      (request.requeue_grace->ns <= 0 || *request.requeue_grace > limits::kCheckpointGraceMax)) {
    return invalid("the time to stop must be greater than 0 and at most " +
                   to_text(limits::kCheckpointGraceMax));
  }
  if (request.may_yield && request.ttl) {
    return Refusal{RefusalCode::kInvalid,
                   "a reservation has no programs whose memory could be given to others"};
  }
  if (request.share != Share::kExclusive && request.vram == Bytes{}) {
    return invalid("a budget of 0 bytes: say how much memory is needed, as in -m 8G");
  }
  const std::size_t count = request.devices.empty() ? request.device_count : request.devices.size();
  if (count == 0 || count > limits::kDevicesPerLease) {
    return invalid(std::to_string(count) + " devices: a lease has from 1 to " +
                   std::to_string(limits::kDevicesPerLease));
  }
  for (const std::optional<Duration>& given :
       {request.eta, request.limit, request.wait_max, request.ttl}) {
    if (given && given->ns < 0) return invalid("a duration below 0");
  }
  if (request.limit && request.limit->ns == 0) return invalid("a limit of 0: it would end at once");
  if (request.ttl && request.limit) return invalid("a reservation has its time, and no --limit");
  if (request.ttl && (request.ttl->ns == 0 || *request.ttl > limits::kTtlMax)) {
    return invalid("DURATION must be between 1 ms and " + to_text(limits::kTtlMax));
  }
  return std::nullopt;
}

std::optional<Refusal> Coordinator::Impl::refuse_user(const Request& request, UserId user) const {
  const UserLimits& limits = limits_of(user);
  const auto found = users.find(user);
  const UserCount count = found == users.end() ? UserCount{} : found->second;
  if (queue.size() >= limits::kWaitingMax) {
    return Refusal{
        RefusalCode::kQueueFull,
        "the queue is full: " + std::to_string(limits::kWaitingMax) + " requests wait already"};
  }
  if (count.waiting >= limits.waiting_max) {
    return Refusal{RefusalCode::kQueueFull,
                   "you have " + std::to_string(count.waiting) +
                       " requests waiting, which is your limit (limits.waiting)"};
  }
  if (count.held >= limits.leases_max || state.leases().size() >= limits::kLeasesMax * 2) {
    return Refusal{RefusalCode::kQueueFull, "you hold " + std::to_string(count.held) +
                                                " leases, which is your limit (limits.leases)"};
  }
  if (request.vram > limits.vram_max) {
    return Refusal{RefusalCode::kQueueFull, to_text(request.vram) + " is above your limit of " +
                                                to_text(limits.vram_max) + " of VRAM"};
  }
  if (request.priority > limits.priority_max) {
    return Refusal{RefusalCode::kNotYours, "priority " + std::string(to_text(request.priority)) +
                                               " is above the highest that you may use here, " +
                                               std::string(to_text(limits.priority_max))};
  }
  return std::nullopt;
}

std::variant<std::vector<DeviceId>, Refusal> Coordinator::Impl::devices_named(
    const std::vector<DeviceName>& names) const {
  std::vector<DeviceId> devices;
  for (const DeviceName& name : names) {
    const auto* id = std::get_if<DeviceId>(&name);
    const auto found = std::ranges::find_if(ledger.accounts(), [&](const Account& account) {
      return id != nullptr ? account.id == *id
                           : account.seen && account.index == std::get<std::uint32_t>(name);
    });
    const std::string text =
        id != nullptr ? to_text(*id) : std::to_string(std::get<std::uint32_t>(name));
    if (found == ledger.accounts().end()) {
      return Refusal{RefusalCode::kNoDevice, "there is no GPU " + text +
                                                 " here: this machine has " +
                                                 std::to_string(ledger.accounts().size()) +
                                                 ", numbered from 0 (berth status lists them)"};
    }
    if (std::ranges::find(devices, found->id) != devices.end()) {
      return invalid("GPU " + text + " is named twice");
    }
    devices.push_back(found->id);
  }
  return devices;
}

std::optional<Refusal> Coordinator::Impl::refuse_devices(const Request& request,
                                                         UserId user) const {
  if (seen_devices.empty()) {
    if (!sample_seen || trouble.empty()) return std::nullopt;  // Not known yet: it waits.
    return Refusal{RefusalCode::kNoDevice, "no GPU can be used: " + trouble};
  }
  const auto named = devices_named(request.devices);
  if (const auto* refusal = std::get_if<Refusal>(&named)) return *refusal;
  const std::size_t count = request.devices.empty() ? request.device_count : request.devices.size();
  std::map<std::string, std::size_t> able;
  std::size_t there = 0;
  Bytes largest;
  Bytes kept;  // Of the device that has it.
  Bytes least = Bytes::max();
  for (const Account& account : ledger.accounts()) {
    // One that fell off the bus may never come back: nobody waits for it.
    if (!account.seen || !is_eligible(account, request)) continue;
    ++there;
    least = std::min(least, context_cost(user, account.id));
    if (account.grantable_when_empty() > largest) {
      largest = account.grantable_when_empty();
      kept = saturating_sub(account.capacity, largest);
    }
    if (fits_ever(account, request)) {
      const bool one_model = request.devices.empty() && !request.mixed;
      able[one_model ? account.model : std::string()] += 1;
    }
  }
  // A learned size is what its command has made do with.
  const bool has_budget = request.share != Share::kExclusive && !request.learned;
  if (has_budget && there > 0 && request.vram < least) {
    return below_a_context(request.vram, least);
  }
  const bool enough =
      std::ranges::any_of(able, [&](const auto& group) { return group.second >= count; });
  if (enough) return std::nullopt;
  if (request.share != Share::kExclusive && request.vram > largest) {
    return Refusal{RefusalCode::kNeverFits,
                   to_text(request.vram) +
                       " fits on no GPU here: the largest budget that can be "
                       "granted is " +
                       to_text(largest) + kept_text(request.vram, largest, kept)};
  }
  if (there < count) {
    return Refusal{RefusalCode::kNeverFits,
                   "it asks for " + std::to_string(count) + " GPUs, and " +
                       (request.devices.empty() ? "this machine has " : "of them there are ") +
                       std::to_string(there)};
  }
  return Refusal{RefusalCode::kNeverFits,
                 "there are no " + std::to_string(count) + " GPUs here that could take it" +
                     (request.mixed ? "" : " (of one model: --mixed allows different ones)")};
}

// Inside other leases: it must be able to start while they hold what they hold.
std::optional<Refusal> Coordinator::Impl::refuse_ancestors(const Request& request) const {
  if (request.ancestors.empty()) return std::nullopt;
  const std::size_t count = request.devices.empty() ? request.device_count : request.devices.size();
  std::size_t able = 0;
  LeaseId blocker;
  for (const Account& account : ledger.accounts()) {
    if (!is_eligible(account, request)) continue;
    Bytes kept;
    bool alone = true;
    for (const LeaseId ancestor : request.ancestors) {
      const auto entry = account.entries.find(ancestor);
      if (entry == account.entries.end()) continue;
      blocker = ancestor;
      kept += entry->second.charge;
      alone = false;
      if (entry->second.exclusive) kept = Bytes::max();
    }
    const bool fits = request.share == Share::kExclusive
                          ? alone
                          : request.vram + kept <= account.grantable_when_empty();
    able += fits ? 1U : 0U;
  }
  if (able >= count || ledger.accounts().empty()) return std::nullopt;
  return Refusal{RefusalCode::kWouldWaitOnItself,
                 "it could not start before " + text_of(blocker) +
                     " ends, inside of which it is asked: ask less, or use that lease's budget"};
}

const Lease* Coordinator::Impl::lease_of(Token token, Actor actor, Handle handle) {
  const auto found = by_handle.find(handle);
  if (found == by_handle.end()) {
    refuse(token, RefusalCode::kNotFound, "there is no lease " + to_text(handle) + " any more");
    return nullptr;
  }
  return lease_of(token, actor, found->second);
}

const Lease* Coordinator::Impl::lease_of(Token token, Actor actor, LeaseId id) {
  const Lease* lease = state.find(id);
  if (lease == nullptr) {
    const LeaseView* ended = state.find_ended(id);
    refuse(token, ended != nullptr ? RefusalCode::kWrongState : RefusalCode::kNotFound,
           ended != nullptr ? text_of(id) + " has ended already" : "there is no " + text_of(id));
    return nullptr;
  }
  if (lease->user != actor.user && !actor.admin) {
    refuse(token, RefusalCode::kNotYours,
           text_of(id) + " belongs to another user (uid " + std::to_string(lease->user.value) +
               "): ask them, or an administrator");
    return nullptr;
  }
  return lease;
}

}  // namespace berth::core
