// SPDX-License-Identifier: Apache-2.0
#include "core/idle_watch.h"

#include <set>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::core {

void IdleWatch::look(const Sample& sample) {
  Computing devices;
  for (const DeviceSample& device : sample.devices) {
    const std::optional<std::uint32_t> percent = device.figures.gpu_utilization;
    const bool is_told = percent && device.processes && !device.lost && !device.asleep;
    if (is_told) devices[device.id] = *percent > 0;
  }
  std::set<LeaseId> all;
  for (const Account& account : ledger_->accounts()) {
    for (const auto& [id, entry] : account.entries) all.insert(id);
  }
  for (const LeaseId id : all) {
    const Lease* lease = core_->state().find(id);
    CHECK(lease != nullptr && lease->granted() != nullptr);  // It would be charged nothing.
    look(*lease, devices, sample.asked_at);
  }
}

// What an earlier daemon has written down goes on, unless the first look shows that it is over:
// nothing is known of the time between.
void IdleWatch::look(const Lease& lease, const Computing& devices, Instant asked_at) {
  const LeaseId id = lease.id;
  const Held* held = lease.held();
  if (held == nullptr) return;
  OfLease& known = known_[id];
  if (held->suspension) return known.quiet_since.reset();  // What was said of it stays.
  const std::optional<Instant> said = held->idle_since;
  const bool is_first = !known.looked_at;
  std::optional<std::vector<Figures>> figures = at_rest(lease, devices);
  const bool same = figures && known.quiet_since && known.figures == *figures &&
                    *known.quiet_since >= held->runs_since &&
                    asked_at - *known.looked_at <= limits::kIdleLookMax;
  if (!same) known.quiet_since = figures ? std::optional(asked_at) : std::nullopt;
  if (is_first && figures && said) known.quiet_since = said;
  known.figures = std::move(figures).value_or(std::vector<Figures>{});
  known.looked_at = asked_at;
  const std::optional<Instant> since = known.quiet_since;
  const bool settled = since && asked_at - *since >= limits::kIdleSettled;
  if (said && !(settled && since == said)) core_->decide(id, LeaseIdle{id});
  if (settled && !said) core_->decide(id, LeaseIdle{id, since});
}

std::optional<std::vector<IdleWatch::Figures>> IdleWatch::at_rest(const Lease& lease,
                                                                  const Computing& devices) const {
  const Held* held = lease.held();
  const bool runs = held != nullptr && held->claimed && !held->suspension && !held->frozen &&
                    !held->requeue && !held->revoked && !lease.checkpoints.asked;
  if (!runs) return std::nullopt;
  std::vector<Figures> figures;
  for (const Part& part : held->parts) {
    const auto device = devices.find(part.device);
    if (device == devices.end() || device->second) return std::nullopt;
    const Use* use = attribution_->use(lease.id, part.device);
    if (use != nullptr && use->figure_missing) return std::nullopt;
    figures.push_back(use == nullptr
                          ? Figures{}
                          : Figures{.driver = use->now.value_or(Bytes{}), .ledger = use->ledger});
  }
  return figures;
}

std::optional<Instant> IdleWatch::since(LeaseId id) const {
  const Lease* lease = core_->state().find(id);
  const Held* held = lease == nullptr ? nullptr : lease->held();
  if (held == nullptr || held->suspension || held->frozen) return std::nullopt;
  return held->idle_since;
}

}  // namespace berth::core
