// SPDX-License-Identifier: Apache-2.0
// Leases that go on on other devices.
//
// Note [A move is a suspension]: the driver brings memory that is in host memory back to any device
// of the same model. So a lease moves by leaving as any other does, being put on other devices
// while its memory is on none, and returning there as any other does: room first, then a sample,
// then the restore. It is charged on one of them at most, and from the record that puts it there it
// belongs there: a daemon that is started anew brings it back to that place, and before that record
// to where it was. What the driver refuses to bring back elsewhere comes back where it was.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/number.h"
#include "base/quantity.h"
#include "core/impl.h"

namespace berth::core {
namespace {

constexpr unsigned kMovesElsewhereSince = 580;  // NVIDIA's driver of CUDA 13.0.

std::string gpu(const Account& account) {
  return "GPU " + std::to_string(account.index);
}

}  // namespace

void Coordinator::Impl::on(const Migrate& event) {
  const Lease* lease = lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const auto refuse_with = [&](const Refusal& refusal) {
    refuse(event.token, refusal.code, refusal.message);
  };
  if (const auto refusal = refuse_migration(*lease)) return refuse_with(*refusal);
  const auto named = devices_named(event.to);
  if (const auto* refusal = std::get_if<Refusal>(&named)) return refuse_with(*refusal);
  const auto& to = std::get<std::vector<DeviceId>>(named);
  if (const auto refusal = refuse_places(*lease, to)) return refuse_with(*refusal);
  const LeaseId id = lease->id;
  if (lease->held()->is_swapped_out()) {
    migrate(id, to, event.actor.user);
    answer(event.token, id);
    return;
  }
  Observed& seen = observed.at(id);
  seen.transfer_tokens.push_back(event.token);
  seen.migrates_to = to;
  seen.migrates_by = event.actor.user;
  suspend(id, {});
}

std::optional<Refusal> Coordinator::Impl::refuse_migration(const Lease& lease) const {
  const auto wrong_state = [&](const std::string& why) {
    return Refusal{RefusalCode::kWrongState, text_of(lease.id) + " " + why};
  };
  const Held* held = lease.held();
  if (held == nullptr || !held->claimed) return wrong_state("is not held");
  if (held->revoked) return wrong_state("was told to end");
  if (held->requeue) return wrong_state("is on the way back into the queue");
  if (!held->has_processes()) return wrong_state("has no processes whose memory could be moved");
  if (lease.checkpoints.asked) return wrong_state("saves itself: ask again when it has");
  const Observed& seen = observed.at(lease.id);
  if (!seen.stuck.empty()) return wrong_state("is between two states: " + seen.stuck);
  if (is_freezing(seen)) return wrong_state("is just being stopped or let go on: ask again");
  if (held->suspension && !held->is_swapped_out()) {
    return wrong_state("is on the way: ask again when it is there");
  }
  if (!may_grant()) {
    return wrong_state("cannot be moved while nothing can be written down (berth doctor)");
  }
  if (lease.request.share == Share::kSlice) {
    return Refusal{RefusalCode::kNotSupported,
                   text_of(lease.id) + " runs in turns, and those are of one GPU"};
  }
  const unsigned driver = leading_number(driver_version);  // 0: unknown.
  if (driver == 0 || driver >= kMovesElsewhereSince) return std::nullopt;
  return Refusal{RefusalCode::kNotSupported,
                 "driver " + driver_version +
                     " brings memory back only to the GPU on which it was (580 can bring it to "
                     "another)"};
}

std::optional<Refusal> Coordinator::Impl::refuse_places(const Lease& lease,
                                                        const std::vector<DeviceId>& to) const {
  const std::vector<Part>& parts = lease.held()->parts;
  const auto invalid = [&](const std::string& why) {
    return Refusal{RefusalCode::kInvalid, text_of(lease.id) + " " + why};
  };
  if (to.size() != parts.size()) {
    return invalid("is on " + std::to_string(parts.size()) + " GPUs: name as many, in their order");
  }
  bool is_there = true;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == parts[i].device) continue;
    is_there = false;
    if (const auto refusal = refuse_place(lease, i, to[i])) return refusal;
  }
  return is_there ? std::optional(invalid("is there already")) : std::nullopt;
}

// Its i-th part. One that runs gives up its place, and is not to wait for another.
std::optional<Refusal> Coordinator::Impl::refuse_place(const Lease& lease, std::size_t i,
                                                       DeviceId to) const {
  const Held& held = *lease.held();
  const Account* from = ledger.find(held.parts[i].device);
  const Account& account = *ledger.find(to);
  if (!account.seen) return Refusal{RefusalCode::kNoDevice, gpu(account) + " is lost"};
  if (from != nullptr && from->model != account.model) {
    return Refusal{RefusalCode::kInvalid,
                   gpu(account) + " (" + account.model + ") is of another model than " +
                       gpu(*from) + " (" + from->model +
                       "): the driver moves memory between GPUs of one model"};
  }
  const bool whole = lease.request.share == Share::kExclusive;
  const Bytes before = held.suspension ? bytes_before_suspend(lease, i)
                                       : observed_use(lease.id, held.parts[i].device);
  const Bytes need = whole ? before : std::max(held.parts[i].budget, before);
  if (need > account.grantable_when_empty()) {
    return Refusal{RefusalCode::kNeverFits,
                   to_text(need) + " do not fit on " + gpu(account) + ", of which " +
                       to_text(account.grantable_when_empty()) + " can be granted"};
  }
  if (held.is_swapped_out()) return std::nullopt;
  const auto [room, others] = room_for(account, lease.id);
  const bool is_taken = account.exclusive_count > 0 && others > 0;
  if (need <= room && !is_taken && !(whole && others > 0)) return std::nullopt;
  return Refusal{RefusalCode::kBusy, gpu(account) + " has " + to_text(is_taken ? Bytes{} : room) +
                                         " left, and " + text_of(lease.id) + " needs " +
                                         (whole ? "it for itself" : to_text(need)) +
                                         ": it would wait there (berth pause " +
                                         std::to_string(lease.id.value) + " first, if it may)"};
}

Bytes Coordinator::Impl::observed_use(LeaseId id, DeviceId device) const {
  const auto& uses = observed.at(id).use;
  const auto found = uses.find(device);
  return found == uses.end() ? Bytes{} : found->second.higher_now();
}

// By the time it has left it may have more than when it was to move.
std::optional<std::string> Coordinator::Impl::too_large_for(LeaseId id,
                                                            const std::vector<DeviceId>& to) const {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Account* account = ledger.find(to[i]);
    if (account == nullptr) continue;
    const Bytes most = saturating_sub(account->capacity, account->driver);
    const Bytes bytes = bytes_before_suspend(*state.find(id), i);
    if (bytes > most) {
      return "it has " + to_text(bytes) + " by now, and " + gpu(*account) + " has " + to_text(most);
    }
  }
  return std::nullopt;
}

// What its programs say of a part goes with it; what they have left behind stays, and is unmanaged
// until the next sample tells whose it is.
void Coordinator::Impl::migrate(LeaseId id, const std::vector<DeviceId>& to,
                                std::optional<UserId> by) {
  const std::vector<Part> before = state.find(id)->held()->parts;
  Observed& seen = observed.at(id);
  std::map<DeviceId, Use> uses = std::exchange(seen.use, {});
  for (std::size_t i = 0; i < to.size(); ++i) {
    const DeviceId from = before[i].device;
    Use& use = seen.use[to[i]] = uses[from];
    if (from == to[i]) continue;
    use.now.reset();
    use.figure_missing = false;
    use.last = use.upper_bound = {};
    use.trend = {};
    ledger.account(from).disown(id);
  }
  for (const DeviceId device : std::exchange(seen.charged_on, {})) {
    dirty |= ledger.put(device, id, std::nullopt);
  }
  decide(id, LeaseMoved{id, to, by});
}

// It waits for room there: what it had may be another's by now.
void Coordinator::Impl::undo_migration(LeaseId id, const std::string& why) {
  const std::vector<DeviceId> from = state.find(id)->held()->its_suspension().moved_from;
  if (from.empty()) return;
  effects.emplace_back(
      Say{text_of(id) + " cannot go on on another GPU: " + why + "; it returns where it was"});
  migrate(id, from, std::nullopt);
  decide(id, ResumeQueued{id});
}

// Of a process that the driver lists nothing is in host memory. So where all of them are listed,
// and the move may have begun before the daemon was started anew, it was done: what is there is not
// to come, and needs no room a second time.
bool Coordinator::Impl::is_all_there(const Lease& lease, const Sample& sample) {
  const Held& held = *lease.held();
  std::set<Process> listed;
  for (const DeviceSample& device : sample.devices) {
    if (!device.processes) continue;
    for (const ProcessSample& one : *device.processes) listed.insert(one.process);
  }
  const auto is_there = [&](const Process& process) { return listed.contains(process); };
  const bool command_runs = held.command && !held.command_ended;
  return held.has_processes() && (!command_runs || is_there(*held.command)) &&
         std::ranges::all_of(held.members, is_there);
}

std::vector<DevicePair> Coordinator::Impl::pairs_of(const Held& held) {
  std::vector<DevicePair> pairs;
  if (!held.suspension) return pairs;
  const std::vector<DeviceId>& from = held.suspension->moved_from;
  for (std::size_t i = 0; i < from.size(); ++i) pairs.push_back({from[i], held.parts[i].device});
  return pairs;
}

}  // namespace berth::core
