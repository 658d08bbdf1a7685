// SPDX-License-Identifier: Apache-2.0
#include "core/migration.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "base/number.h"
#include "base/quantity.h"

namespace berth::core {
namespace {

constexpr unsigned kMovesElsewhereSince = 580;  // NVIDIA's driver of CUDA 13.0.

std::string gpu(const Account& account) {
  return "GPU " + std::to_string(account.index);
}

}  // namespace

std::optional<Refusal> MigrationRules::refuse(const Lease& lease) const {
  if (lease.request.share == Share::kSlice) {
    return Refusal{RefusalCode::kNotSupported,
                   text_of(lease.id) + " runs in turns, and those are of one GPU"};
  }
  const unsigned driver = leading_number(devices_->driver_version());  // 0: unknown.
  if (driver == 0 || driver >= kMovesElsewhereSince) return std::nullopt;
  return Refusal{RefusalCode::kNotSupported,
                 "driver " + devices_->driver_version() +
                     " brings memory back only to the GPU on which it was (580 can bring it to "
                     "another)"};
}

std::optional<Refusal> MigrationRules::refuse_places(const Lease& lease,
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
std::optional<Refusal> MigrationRules::refuse_place(const Lease& lease, std::size_t i,
                                                    DeviceId to) const {
  const Held& held = *lease.held();
  const Account* from = ledger_->find(held.parts[i].device);
  const Account& account = *ledger_->find(to);
  if (!account.seen) return Refusal{RefusalCode::kNoDevice, gpu(account) + " is lost"};
  if (from != nullptr && from->model != account.model) {
    return Refusal{RefusalCode::kInvalid,
                   gpu(account) + " (" + account.model + ") is of another model than " +
                       gpu(*from) + " (" + from->model +
                       "): the driver moves memory between GPUs of one model"};
  }
  const bool whole = lease.request.share == Share::kExclusive;
  const Use* use = attribution_->use(lease.id, held.parts[i].device);
  const Bytes before =
      held.suspension ? needs_->before(lease, i) : (use == nullptr ? Bytes{} : use->higher_now());
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

std::variant<std::vector<DeviceId>, Refusal> MigrationRules::places(
    const Lease& lease, const std::vector<DeviceName>& to) const {
  auto named = devices_->named(to);
  const auto* places = std::get_if<std::vector<DeviceId>>(&named);
  if (places == nullptr) return named;
  if (auto refusal = refuse_places(lease, *places)) return *std::move(refusal);
  return named;
}

std::optional<std::string> MigrationRules::too_large_for(const Lease& lease,
                                                         const std::vector<DeviceId>& to) const {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Account* account = ledger_->find(to[i]);
    if (account == nullptr || !account->seen) continue;
    const Bytes most = saturating_sub(account->capacity, account->driver);
    const Bytes bytes = needs_->before(lease, i);
    if (bytes > most) {
      return "it has " + to_text(bytes) + " by now, and " + gpu(*account) + " has " + to_text(most);
    }
  }
  return std::nullopt;
}

// Of a process that the driver lists nothing is in host memory. So where all of them are listed,
// and the move may have begun before the daemon was started anew, it was done: what is there is not
// to come, and needs no room a second time.
bool is_all_there(const Lease& lease, const Sample& sample) {
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

std::vector<DevicePair> pairs_of(const Held& held) {
  std::vector<DevicePair> pairs;
  if (!held.suspension) return pairs;
  const std::vector<DeviceId>& from = held.suspension->moved_from;
  for (std::size_t i = 0; i < from.size(); ++i) pairs.push_back({from[i], held.parts[i].device});
  return pairs;
}

}  // namespace berth::core
