// SPDX-License-Identifier: Apache-2.0
#include "core/admission.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/number.h"
#include "base/quantity.h"
#include "base/size_argument.h"
#include "core/limits.h"
#include "core/messages.h"
#include "core/placement.h"
#include "core/saves.h"
#include "core/site.h"

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

std::string ahead_text(std::size_t count) {
  return count == 1 ? "1 request is ahead" : std::to_string(count) + " requests are ahead";
}

constexpr unsigned kMovesMemorySince = 570;  // NVIDIA's driver of CUDA 12.8.

}  // namespace

std::optional<Refusal> Admission::refuse(const Request& request, Actor actor) const {
  if (auto refusal = refuse_now()) return refusal;
  if (auto refusal = refuse_shape(request)) return refusal;
  if (auto refusal = refuse_one_more(actor.user)) return refusal;
  if (auto refusal = refuse_size(request, actor.user)) return refusal;
  if (auto refusal = refuse_priority(request, actor.user)) return refusal;
  if (auto refusal = refuse_devices(request, actor.user)) return refusal;
  return refuse_ancestors(request, actor);
}

// Its size is its user's. A priority is granted by who may use it.
std::optional<Refusal> Admission::refuse_edit(const Request& request, const Lease& lease,
                                              Actor actor) const {
  if (auto refusal = refuse_now()) return refusal;
  if (auto refusal = refuse_shape(request)) return refusal;
  if (auto refusal = refuse_size(request, lease.user)) return refusal;
  const bool is_raised = request.priority > lease.request.priority;
  if (auto refusal = is_raised ? refuse_priority(request, actor.user) : std::nullopt) {
    return refusal;
  }
  if (auto refusal = refuse_devices(request, lease.user)) return refusal;
  return refuse_ancestors(request, actor);
}

std::optional<Refusal> Admission::refuse_now() const {
  if (core_->safe_mode()) {
    return Refusal{RefusalCode::kSafeMode,
                   "the daemon is in safe mode and grants nothing: its journal was moved aside "
                   "(see berth doctor)"};
  }
  if (!core_->journal_full_where().empty()) {
    return Refusal{RefusalCode::kDiskFull, "the journal " + core_->journal_full_where() +
                                               " cannot be written: free some space there; "
                                               "running leases are not touched"};
  }
  return std::nullopt;
}

std::optional<Refusal> Admission::refuse_tier(const std::string& tier) const {
  const auto& tiers = core_->settings().tiers;
  if (tier.empty() || tiers.contains(tier)) return std::nullopt;
  std::string all;
  for (const auto& [name, what] : tiers) all += (all.empty() ? "" : ", ") + name;
  return invalid("no tier is called '" + tier.substr(0, limits::kNameMax) + "'; there are: " + all +
                 " (a section [tier.NAME] in the daemon's configuration makes another)");
}

std::optional<Refusal> Admission::refuse_shape(const Request& request) const {
  if (!is_good_name(request.name)) {
    return invalid("the name '" + request.name.substr(0, limits::kNameMax) +
                   "' cannot be used: at most 64 printable bytes that do not begin with a digit, "
                   "'@' or 'l_'");
  }
  if (request.session.size() > limits::kNameMax || request.labels.size() > limits::kLabelsMax) {
    return invalid("a session name has at most 64 bytes, and a request at most 16 labels");
  }
  if (request.key.size() > limits::kNameMax) return invalid("a key has at most 64 bytes");
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
  if (auto refusal = refuse_tier(request.tier)) return refusal;
  if (auto refusal = Saves::refuse_way(request)) return refusal;
  if (auto refusal = Messages::refuse_rule(request)) return refusal;
  if (request.requeue_grace && request.ttl) {
    return invalid("a reservation has no command that could be started again");
  }
  if (request.requeue_grace &&
      (request.requeue_grace->ns <= 0 || *request.requeue_grace > limits::kCheckpointGraceMax)) {
    return invalid("the time to stop must be greater than 0 and at most " +
                   to_text(limits::kCheckpointGraceMax));
  }
  if (request.ttl && (request.retry_max > 0 || request.on_oom != OnOom::kFail)) {
    return invalid("a reservation has no command that could be started again");
  }
  if (request.retry_after.ns <= 0 || request.retry_after > kRetryAfterMost) {
    return invalid("the time before it is started again must be greater than 0 and at most " +
                   to_text(kRetryAfterMost));
  }
  if (request.may_yield && request.ttl) {
    return Refusal{RefusalCode::kInvalid,
                   "a reservation has no programs whose memory could be given to others"};
  }
  if (request.share != Share::kExclusive && request.vram == Bytes{}) {
    return invalid("a budget of 0 bytes: say how much memory is needed, as in -m 8G");
  }
  const std::size_t count = device_count(request);
  if (count == 0 || count > limits::kDevicesPerLease) {
    return invalid(std::to_string(count) + " devices: a lease has from 1 to " +
                   std::to_string(limits::kDevicesPerLease));
  }
  for (const std::optional<Duration>& given :
       {request.eta, request.limit, request.wait_max, request.ttl}) {
    if (given && given->ns < 0) return invalid("a duration below 0");
  }
  if (request.limit && request.limit->ns == 0) return invalid("a limit of 0: it would end at once");
  if (request.while_used && !request.ttl) {
    return invalid("while_used is of a reservation, whose time it is about");
  }
  if (request.ttl && request.limit) return invalid("a reservation has its time, and no --limit");
  if (request.ttl && (request.ttl->ns == 0 || *request.ttl > limits::kTtlMax)) {
    return invalid("DURATION must be between 1 ms and " + to_text(limits::kTtlMax));
  }
  return std::nullopt;
}

std::optional<Refusal> Admission::refuse_one_more(UserId user) const {
  const UserLimits& limits = core_->limits_of(user);
  const UserCount count = indexes_->count_of(user);
  if (indexes_->queue().size() >= limits::kWaitingMax) {
    return Refusal{
        RefusalCode::kQueueFull,
        "the queue is full: " + std::to_string(limits::kWaitingMax) + " requests wait already"};
  }
  if (count.waiting >= limits.waiting_max) {
    return Refusal{RefusalCode::kQueueFull,
                   "you have " + std::to_string(count.waiting) +
                       " requests waiting, which is your limit (limits.waiting)"};
  }
  if (count.held >= limits.leases_max || core_->state().leases().size() >= limits::kLeasesMax * 2) {
    return Refusal{RefusalCode::kQueueFull, "you hold " + std::to_string(count.held) +
                                                " leases, which is your limit (limits.leases)"};
  }
  return std::nullopt;
}

std::optional<Refusal> Admission::refuse_size(const Request& request, UserId user) const {
  const UserLimits& limits = core_->limits_of(user);
  if (const Bytes taken = most_taken(*ledger_, request); taken > limits.vram_max) {
    const std::string_view all = device_count(request) > 1 ? " on all GPUs together" : "";
    return Refusal{RefusalCode::kQueueFull, to_text(taken) + std::string(all) +
                                                " is above your limit of " +
                                                to_text(limits.vram_max) + " of VRAM"};
  }
  return std::nullopt;
}

std::optional<Refusal> Admission::refuse_priority(const Request& request, UserId user) const {
  const UserLimits& limits = core_->limits_of(user);
  if (request.priority > limits.priority_max) {
    return Refusal{RefusalCode::kNotYours, "priority " + std::string(to_text(request.priority)) +
                                               " is above the highest that you may use here, " +
                                               std::string(to_text(limits.priority_max))};
  }
  return std::nullopt;
}

std::optional<Refusal> Admission::refuse_slice(const Request& request) const {
  if (request.ttl) {
    return Refusal{RefusalCode::kInvalid, "a reservation has no programs that could take turns"};
  }
  if (device_count(request) != 1) {
    return Refusal{
        RefusalCode::kInvalid,
        "a lease that runs in turns (--share slice) is on one GPU: leave out -g, or name "
        "one"};
  }
  const unsigned driver = leading_number(devices_->driver_version());  // 0: unknown.
  if (driver == 0 || driver >= kMovesMemorySince) return std::nullopt;
  return Refusal{
      RefusalCode::kNotSupported,
      "to run in turns (--share slice) memory has to be moved to the host, which driver " +
          devices_->driver_version() + " cannot do (570 can): use a budget (-m) or the whole GPU"};
}

std::optional<Refusal> Admission::refuse_devices(const Request& request, UserId user) const {
  if (devices_->all().empty()) {
    if (!devices_->sample_seen() || devices_->trouble().empty())
      return std::nullopt;  // Not known yet: it waits.
    return Refusal{RefusalCode::kNoDevice, "no GPU can be used: " + devices_->trouble()};
  }
  const auto named = devices_->named(request.devices);
  if (const auto* refusal = std::get_if<Refusal>(&named)) return *refusal;
  const std::size_t count = device_count(request);
  std::map<std::string_view, std::size_t> able;
  std::size_t there = 0;
  Bytes largest;
  Bytes kept;  // Of the device that has it.
  Bytes least = Bytes::max();
  for (const Account& account : ledger_->accounts()) {
    // One that fell off the bus may never come back: nobody waits for it.
    if (!account.seen || !is_eligible(account, request)) continue;
    ++there;
    least = std::min(least, devices_->context_cost(user, account.id));
    if (account.grantable_when_empty() > largest) {
      largest = account.grantable_when_empty();
      kept = saturating_sub(account.capacity, largest);
    }
    if (fits_ever(account, request)) {
      const bool one_model = request.devices.empty() && !request.mixed;
      able[one_model ? std::string_view(account.model) : std::string_view()] += 1;
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
std::optional<Refusal> Admission::refuse_ancestors(const Request& request, Actor actor) const {
  if (request.ancestors.empty()) return std::nullopt;
  for (const LeaseId id : request.ancestors) {
    const Lease* ancestor = core_->state().find(id);
    if (ancestor == nullptr || ancestor->user == actor.user || actor.admin) continue;
    return Refusal{RefusalCode::kNotYours, "it is asked for inside of " + text_of(id) +
                                               ", which belongs to another user "
                                               "(uid " +
                                               std::to_string(ancestor->user.value) +
                                               "): unset BERTH_LEASE_ID and BERTH_OUTER_LEASES"};
  }
  const std::size_t count = device_count(request);
  std::size_t able = 0;
  LeaseId blocker;
  for (const Account& account : ledger_->accounts()) {
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
  if (able >= count || ledger_->accounts().empty()) return std::nullopt;
  return Refusal{RefusalCode::kWouldWaitOnItself,
                 "it could not start before " + text_of(blocker) +
                     " ends, inside of which it is asked: ask less, or use that lease's budget"};
}

Refusal Admission::below_a_context(Bytes asked, Bytes least) {
  return invalid(to_text(asked) +
                 " is below what a CUDA context alone takes here before the first allocation, "
                 "about " +
                 to_text(least) + ": ask for at least " + size_argument_above(least));
}

Request Admission::with_learned_size(Request request, UserId user) const {
  if (!request.learned) return request;
  const std::optional<Bytes> budget = core_->state().runs().budget_for(user, request.command);
  request.learned = budget.has_value();
  if (budget) {
    if (request.share != Share::kSlice) request.share = Share::kBudget;
    request.vram = *budget;
  }
  return request;
}

// What its other runs needed says more than a guess.
std::optional<Bytes> Admission::grown(const Lease& lease) const {
  Request more = lease.request;
  if (more.share == Share::kExclusive) return std::nullopt;
  const Bytes had = more.vram;
  const Bytes learned =
      core_->state().runs().budget_for(lease.user, more.command).value_or(Bytes{});
  Bytes largest;
  for (const Account& account : ledger_->accounts()) {
    if (account.seen && is_eligible(account, more)) {
      largest = std::max(largest, account.grantable_when_empty());
    }
  }
  more.vram = std::min(learned > had ? learned : had + had, largest);
  if (more.vram <= had || most_taken(*ledger_, more) > core_->limits_of(lease.user).vram_max) {
    return std::nullopt;
  }
  return refuse_devices(more, lease.user) ? std::nullopt : std::optional(more.vram);
}

std::string Admission::shortage_text(const Request& request, UserId user) const {
  const Site site = site_of(*ledger_, request, core_->settings().exclusive_unmanaged_max);
  if (site.accounts.empty()) {
    const std::string& trouble = devices_->trouble();
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
    if (!indexes_->user_has_room(asked)) return "you have as much as one user may have (limits)";
    const std::size_t ahead = indexes_->queue().size();
    if (ahead > 0) return ahead_text(ahead);
    return indexes_->growing().empty() ? "it cannot be granted at this moment"
                                       : "room is kept for a lease that grows or comes back";
  }
  const std::string several = site.wanted == 1 ? ""
                                               : std::to_string(site.fitting) + " of the " +
                                                     wanted + " asked could be granted now; ";
  const Account& lacks = *site.accounts[site.fitting];
  const std::string gpu = "GPU " + std::to_string(lacks.index);
  if (request.share == Share::kExclusive) {
    const bool others = lacks.charged > Bytes{};
    return several +
           (others ? "other leases are on " + gpu + " (" + to_text(lacks.charged) + ")"
                   : "processes outside Berth use " + to_text(lacks.heeded()) + " of " + gpu);
  }
  return several + gpu + " can grant " + to_text(lacks.grantable()) + " of the " +
         to_text(request.vram) + " asked";
}

}  // namespace berth::core
