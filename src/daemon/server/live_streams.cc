// SPDX-License-Identifier: Apache-2.0
#include "server/live_streams.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/fnv1a.h"
#include "base/json_writer.h"
#include "server/views.h"
#include "wire/answers.h"
#include "wire/lease.h"
#include "wire/sse.h"

namespace berth::server {
namespace {

// Times that go on by themselves are no difference: who reads can count them on.
std::uint64_t fingerprint(DeviceView device, const wire::UserNames& names) {
  device.sample_age.reset();
  return fnv1a(wire::encode_device(device, /*simulated=*/false, names));
}
std::uint64_t fingerprint(LeaseView lease, const wire::Viewer& viewer) {
  if (lease.state == LeaseState::kWaiting) lease.waited = {};
  return fnv1a(wire::encode_lease(lease, viewer));
}
std::uint64_t fingerprint(wire::AlertList alerts) {
  alerts.time = {};
  return fnv1a(wire::encode_alerts(alerts));
}

// Notes the fingerprint, and says whether it was another one.
template <class Id>
bool is_different(std::map<Id, std::uint64_t>& told, const Id& id, std::uint64_t now) {
  const auto [known, is_new] = told.try_emplace(id, now);
  return is_new || std::exchange(known->second, now) != now;
}

std::string event(std::string_view name, std::string data) {
  return wire::encode_event({.event = std::string(name), .id = {}, .data = std::move(data)});
}

std::string heartbeat(UnixMs time) {
  JsonWriter data;
  return event("heartbeat", data.begin_object().plain_key("time").time(time).end_object().take());
}

}  // namespace

LiveStreams::LiveStreams(std::string epoch, std::string host)
    : epoch_(std::move(epoch)), host_(std::move(host)) {}

LiveStreams::Facts LiveStreams::facts_at(core::Now now) const {
  return {.now = now, .alerts = checked(ports_).alerts(now)};
}

wire::Viewer LiveStreams::viewer_of(const LiveAudience& audience) const {
  return {.user = audience.user,
          .sees_all_commands = audience.sees_all_commands,
          .sees_all_handles = audience.admin,
          .names = checked(ports_).names};
}

void LiveStreams::open(ConnectionId connection, LiveAudience audience, core::Now now) {
  const Facts facts = facts_at(now);
  Told& told = told_[audience];
  // What the others of its audience have not heard yet must not be in its snapshot alone.
  tell(audience, told, facts);
  listeners_[connection] = {.audience = audience, .behind = false};
  told.listeners.insert(connection);
  const std::string text = event("snapshot", snapshot(audience, told, facts));
  checked(ports_).transport.stream(connection, text);
  next_tell_ = std::min(next_tell_, now.instant + kTellEvery);
}

void LiveStreams::close(ConnectionId connection) {
  const auto found = listeners_.find(connection);
  if (found == listeners_.end()) return;
  const auto told = told_.find(found->second.audience);
  told->second.listeners.erase(connection);
  if (told->second.listeners.empty()) told_.erase(told);
  listeners_.erase(found);
  if (listeners_.empty()) next_tell_ = Instant::never();
}

void LiveStreams::happened(const AuditEntry& entry) {
  events_.push_front(entry);
  if (events_.size() > kEventsKept) events_.pop_back();
  ++events_so_far_;
}

void LiveStreams::on_timer(core::Now now) {
  if (now.instant < next_tell_) return;
  next_tell_ = now.instant + kTellEvery;
  const Facts facts = facts_at(now);
  for (auto& [audience, told] : told_) tell(audience, told, facts);
}

void LiveStreams::tell(const LiveAudience& audience, Told& told, const Facts& facts) {
  const Ports& ports = checked(ports_);
  const wire::LiveChange news = change(told, audience, facts);
  const bool is_quiet = news.is_empty();
  if (is_quiet && facts.now.instant < told.at + kHeartbeatEvery) return;
  told.at = facts.now.instant;
  if (told.listeners.empty()) return;  // The first one gets a snapshot.
  const std::string text =
      is_quiet
          ? heartbeat(facts.now.wall)
          : event("change", wire::encode_live_change(news, ports.simulated, viewer_of(audience)));
  std::string anew;
  for (const ConnectionId connection : told.listeners) {
    Listener& listener = listeners_.at(connection);
    if (!ports.transport.drained(connection)) {
      listener.behind = listener.behind || !is_quiet;
    } else if (std::exchange(listener.behind, false)) {
      if (anew.empty()) anew = event("snapshot", snapshot(audience, told, facts));
      ports.transport.stream(connection, anew);
    } else {
      ports.transport.stream(connection, text);
    }
  }
}

wire::LiveChange LiveStreams::change(Told& told, const LiveAudience& audience,
                                     const Facts& facts) const {
  const Ports& ports = checked(ports_);
  wire::StatusAnswer status =
      status_answer(ports.coordinator, facts.now, ports.simulated, audience.user);
  wire::LiveChange change{.sequence = told.sequence + 1, .time = facts.now.wall};
  if (std::exchange(told.trouble, status.trouble) != status.trouble) {
    change.trouble = status.trouble;
  }
  note_devices(told, std::move(status.devices), change);
  std::vector<LeaseId> queue;
  for (LeaseView& lease : status.queue) {
    queue.push_back(lease.id);
    status.leases.push_back(std::move(lease));
  }
  note_leases(told, std::move(status.leases), audience, facts.now, change);
  if (std::exchange(told.queue, queue) != queue) change.queue = std::move(queue);
  const std::uint64_t alerts = fingerprint(facts.alerts);
  if (std::exchange(told.alerts, alerts) != alerts) change.alerts = facts.alerts;
  const std::uint64_t known = std::exchange(told.events, events_so_far_);
  if (known != events_so_far_) change.events = events_since(known);
  if (!change.is_empty()) ++told.sequence;
  return change;
}

void LiveStreams::note_devices(Told& told, std::vector<DeviceView> devices,
                               wire::LiveChange& change) const {
  std::erase_if(devices, [&](const DeviceView& device) {
    return !is_different(told.devices, device.id, fingerprint(device, checked(ports_).names));
  });
  if (!devices.empty()) change.devices = std::move(devices);
}

void LiveStreams::note_leases(Told& told, std::vector<LeaseView> leases,
                              const LiveAudience& audience, core::Now now,
                              wire::LiveChange& change) const {
  const wire::Viewer viewer = viewer_of(audience);
  std::set<LeaseId> live;
  for (const LeaseView& lease : leases) live.insert(lease.id);
  std::erase_if(leases, [&](const LeaseView& lease) {
    return !is_different(told.leases, lease.id, fingerprint(lease, viewer));
  });
  std::vector<LeaseId> gone;
  for (const auto& [id, print] : told.leases) {
    if (!live.contains(id)) gone.push_back(id);
  }
  for (const LeaseId id : gone) {
    told.leases.erase(id);
    auto ended = checked(ports_).coordinator.lease(id, now);
    if (ended) leases.push_back(*std::move(ended));
  }
  if (!leases.empty()) change.leases = std::move(leases);
  if (!gone.empty()) change.gone = std::move(gone);
}

std::string LiveStreams::snapshot(const LiveAudience& audience, const Told& told,
                                  const Facts& facts) const {
  const Ports& ports = checked(ports_);
  const wire::LiveSnapshot all{
      .epoch = epoch_,
      .sequence = told.sequence,
      .host = host_,
      .viewer = {.user = audience.user, .may_act = audience.may_act, .admin = audience.admin},
      .status = status_answer(ports.coordinator, facts.now, ports.simulated, audience.user),
      .alerts = facts.alerts,
      .events = events_since(0)};
  return wire::encode_live_snapshot(all, viewer_of(audience));
}

/// Those after the first `count`, as far as they are kept.
std::vector<AuditEntry> LiveStreams::events_since(std::uint64_t count) const {
  const std::uint64_t wanted = std::min<std::uint64_t>(events_so_far_ - count, events_.size());
  return {events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(wanted)};
}

}  // namespace berth::server
