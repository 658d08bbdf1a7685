// SPDX-License-Identifier: Apache-2.0
#include "server/history_readings.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/check.h"

namespace berth::server {
namespace {

using history::Figure;
using history::Reading;

std::map<Process, LeaseId> leases_of_processes(const std::vector<LeaseView>& leases) {
  std::map<Process, LeaseId> owners;
  for (const LeaseView& lease : leases) {
    if (lease.command) owners.emplace(*lease.command, lease.id);
    for (const Process process : lease.members) owners.emplace(process, lease.id);
  }
  return owners;
}

Reading of_device(DeviceId device, Figure figure, Bytes value) {
  return {.subject = {.device = device, .figure = figure}, .value = value};
}

void add_device(std::vector<Reading>& into, const DeviceSample& device,
                const std::vector<DeviceView>& views) {
  if (device.used) into.push_back(of_device(device.id, Figure::kUsed, *device.used));
  const auto found = std::ranges::find(views, device.id, &DeviceView::id);
  if (found == views.end()) return;
  const DeviceView& view = *found;
  into.push_back(of_device(device.id, Figure::kGranted, view.granted));
  if (view.unmanaged) into.push_back(of_device(device.id, Figure::kUnmanaged, *view.unmanaged));
  if (device.figures.gpu_utilization) {
    into.push_back(
        of_device(device.id, Figure::kUtilization, Bytes{*device.figures.gpu_utilization}));
  }
}

}  // namespace

std::vector<Reading> readings_of(const Sample& sample, const std::vector<DeviceView>& devices,
                                 const std::vector<LeaseView>& leases) {
  std::vector<Reading> readings;
  const std::map<Process, LeaseId> owners = leases_of_processes(leases);
  for (const DeviceSample& device : sample.devices) {
    if (device.lost || device.asleep) continue;
    add_device(readings, device, devices);
    if (!device.processes) continue;
    for (const ProcessSample& process : *device.processes) {
      // Of the dead only the pid is known, which may be another's by now.
      if (!process.used || !process.alive) continue;
      const auto owner = owners.find(process.process);
      const LeaseId lease = owner == owners.end() ? LeaseId{} : owner->second;
      readings.push_back({.subject = {device.id, lease, process.process, Figure::kUsed},
                          .value = *process.used,
                          .name = process.name,
                          .user = process.user});
    }
  }
  for (const LeaseView& lease : leases) {
    for (const LeasePart& part : lease.parts) {
      Reading reading{.subject = {.device = part.device, .lease = lease.id},
                      .name = lease.request.name,
                      .user = lease.user};
      if (lease.state == LeaseState::kHeld) {
        reading.subject.figure = Figure::kGranted;
        reading.value = part.granted;
        readings.push_back(reading);
      }
      const auto seen = std::ranges::find(sample.devices, part.device, &DeviceSample::id);
      const bool has_figures = seen != sample.devices.end() && !seen->lost && !seen->asleep;
      if (!has_figures || !part.used) continue;
      reading.subject.figure = Figure::kUsed;
      reading.value = *part.used;
      readings.push_back(reading);
      if (!part.gpu_utilization) continue;
      reading.subject.figure = Figure::kUtilization;
      reading.value = Bytes{*part.gpu_utilization};
      readings.push_back(std::move(reading));
    }
  }
  return readings;
}

namespace {

// One that was requeued has waited several times: as if that had been at once, before it began.
UnixMs started(const LeaseView& lease) {
  CHECK(lease.started_at.has_value());
  if (lease.restarts == 0) return *lease.started_at;
  return {lease.queued_at.value + lease.waited.ns / milliseconds(1).ns};
}

}  // namespace

history::Session session_of(const LeaseView& lease) {
  CHECK(lease.started_at.has_value());
  history::Session session{.id = lease.id,
                           .user = lease.user,
                           .name = lease.request.name,
                           .session = lease.request.session,
                           .share = lease.request.share,
                           .devices = static_cast<std::uint32_t>(lease.parts.size()),
                           .queued = lease.queued_at,
                           .started = started(lease),
                           .ended = lease.ended_at,
                           .result = lease.result,
                           .peak = lease.parts.empty() ? std::nullopt : std::optional(Bytes{})};
  if (lease.state != LeaseState::kEnded) session.result.reset();
  for (const LeasePart& part : lease.parts) {
    session.granted += part.granted;
    session.peak =
        session.peak && part.peak ? std::optional(*session.peak + *part.peak) : std::nullopt;
  }
  return session;
}

void add_use(history::Session& session, const LeaseView& lease, Duration time) {
  if (lease.parts.empty() || time <= Duration{}) return;
  Bytes used;
  Bytes unused;
  for (const LeasePart& part : lease.parts) {
    if (!part.used) return;
    used += *part.used;
    unused += saturating_sub(part.granted, *part.used);
  }
  const auto ms = static_cast<std::uint64_t>(time.ns / milliseconds(1).ns);
  session.known_ms += ms;
  session.used_mib_ms += used.value / mib(1).value * ms;
  session.unused_mib_ms += unused.value / mib(1).value * ms;
}

}  // namespace berth::server
