// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace berth::server {
namespace {

using wire::Exposition;
using wire::Label;
using wire::MetricType;

constexpr auto kGauge = MetricType::kGauge;
constexpr auto kCounter = MetricType::kCounter;

double in_seconds(Duration time) {
  return static_cast<double>(time.ns) / 1e9;
}

template <class T>
std::optional<double> scaled(const std::optional<T>& value, double by) {
  return value ? std::optional(static_cast<double>(*value) * by) : std::nullopt;
}

std::optional<double> bytes(const std::optional<Bytes>& value) {
  return value ? std::optional(static_cast<double>(value->value)) : std::nullopt;
}

double truth(bool value) {
  return value ? 1 : 0;
}

/// Of a device; absent: not known, and then there is no sample.
struct DeviceFamily {
  std::string_view name;
  MetricType type;
  std::string_view help;
  std::optional<double> (*of)(const DeviceView& device);
};

using D = DeviceView;
constexpr double kPercent = 0.01;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;

constexpr std::array kDeviceFamilies = {
    DeviceFamily{"berth_gpu_memory_total_bytes", kGauge, "Memory of the GPU.",
                 [](const D& d) { return bytes(d.capacity); }},
    DeviceFamily{"berth_gpu_memory_used_bytes", kGauge, "Used by everyone, as the driver tells.",
                 [](const D& d) { return bytes(d.used); }},
    DeviceFamily{"berth_gpu_memory_unmanaged_bytes", kGauge, "Used by processes of no lease.",
                 [](const D& d) { return bytes(d.unmanaged); }},
    DeviceFamily{"berth_gpu_memory_granted_bytes", kGauge, "The budgets of leases.",
                 [](const D& d) { return bytes(d.granted); }},
    DeviceFamily{"berth_gpu_memory_charged_bytes", kGauge,
                 "Charged to leases: for each the larger of budget and use.",
                 [](const D& d) { return bytes(d.charged); }},
    DeviceFamily{"berth_gpu_memory_held_back_bytes", kGauge, "Kept from leases.",
                 [](const D& d) { return bytes(d.held_back); }},
    DeviceFamily{"berth_gpu_memory_grantable_bytes", kGauge, "What would be granted now.",
                 [](const D& d) { return bytes(d.grantable); }},
    DeviceFamily{"berth_gpu_leases", kGauge, "Leases on the GPU.",
                 [](const D& d) { return std::optional(static_cast<double>(d.leases.size())); }},
    DeviceFamily{"berth_gpu_utilization_ratio", kGauge,
                 "Of the last second or less, how long something was computed.",
                 [](const D& d) { return scaled(d.figures.gpu_utilization, kPercent); }},
    DeviceFamily{"berth_gpu_memory_utilization_ratio", kGauge,
                 "Of the same time, how long its memory was read or written.",
                 [](const D& d) { return scaled(d.figures.memory_utilization, kPercent); }},
    DeviceFamily{"berth_gpu_temperature_celsius", kGauge, "Of the core.",
                 [](const D& d) { return scaled(d.figures.temperature, 1); }},
    DeviceFamily{"berth_gpu_power_watts", kGauge, "Drawn by the board.",
                 [](const D& d) { return scaled(d.figures.power_milliwatts, kMilli); }},
    DeviceFamily{"berth_gpu_power_limit_watts", kGauge, "The limit that holds.",
                 [](const D& d) { return scaled(d.figures.power_limit_milliwatts, kMilli); }},
    DeviceFamily{"berth_gpu_sm_clock_hertz", kGauge, "Of the multiprocessors.",
                 [](const D& d) { return scaled(d.figures.sm_clock_mhz, kMega); }},
    DeviceFamily{"berth_gpu_memory_clock_hertz", kGauge, "Of the memory.",
                 [](const D& d) { return scaled(d.figures.memory_clock_mhz, kMega); }},
    DeviceFamily{"berth_gpu_fan_ratio", kGauge, "Of the speed that is meant to be its highest.",
                 [](const D& d) { return scaled(d.figures.fan, kPercent); }},
    DeviceFamily{"berth_gpu_pcie_generation", kGauge, "Of the link as it is now.",
                 [](const D& d) { return scaled(d.figures.pcie_generation, 1); }},
    DeviceFamily{"berth_gpu_pcie_lanes", kGauge, "Of the link as it is now.",
                 [](const D& d) { return scaled(d.figures.pcie_lanes, 1); }},
    DeviceFamily{"berth_gpu_ecc_corrected_errors", kCounter,
                 "Of its memory, since the driver was loaded.",
                 [](const D& d) { return scaled(d.figures.ecc_corrected, 1); }},
    DeviceFamily{"berth_gpu_ecc_uncorrected_errors", kCounter,
                 "The same, of those that could not be mended.",
                 [](const D& d) { return scaled(d.figures.ecc_uncorrected, 1); }},
    DeviceFamily{"berth_gpu_lost", kGauge, "1: it has fallen off the bus, or answers with errors.",
                 [](const D& d) { return std::optional(truth(d.lost)); }},
    DeviceFamily{"berth_gpu_asleep", kGauge, "1: suspended, and not woken to be asked.",
                 [](const D& d) { return std::optional(truth(d.asleep)); }},
    DeviceFamily{"berth_gpu_overcommitted", kGauge, "1: charged above what there is.",
                 [](const D& d) { return std::optional(truth(d.overcommitted)); }},
    DeviceFamily{"berth_gpu_pressure", kGauge,
                 "0 normal; 1 warn: its leases could not all have their budgets; 2 critical: one "
                 "alone could not.",
                 [](const D& d) { return std::optional(static_cast<double>(d.pressure)); }},
    DeviceFamily{"berth_gpu_sample_age_seconds", kGauge, "How old the driver's figures are.",
                 [](const D& d) {
                   return d.sample_age ? std::optional(in_seconds(*d.sample_age)) : std::nullopt;
                 }},
};

void add_devices(Exposition& to, const std::vector<DeviceView>& devices) {
  struct Named {
    std::string index;
    std::string uuid;
  };
  std::vector<Named> names;
  names.reserve(devices.size());
  for (const DeviceView& device : devices) {
    names.push_back({std::to_string(device.index), to_text(device.id)});
  }
  to.family("berth_gpu_info", kGauge, "Always 1: which GPU that is.");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    to.sample(1, {{"gpu", names[i].index},
                  {"uuid", names[i].uuid},
                  {"model", devices[i].model},
                  {"pci_bus", devices[i].pci_bus}});
  }
  for (const DeviceFamily& family : kDeviceFamilies) {
    to.family(family.name, family.type, family.help);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::optional<double> value = family.of(devices[i]);
      if (value) to.sample(*value, {{"gpu", names[i].index}, {"uuid", names[i].uuid}});
    }
  }
  to.family("berth_gpu_throttled", kGauge, "1: that holds its clocks down.");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::optional<Throttle> by = devices[i].figures.throttle;
    if (!by) continue;
    for (const Throttle reason : {Throttle::kPower, Throttle::kThermal, Throttle::kHardware}) {
      to.sample(truth(reason == *by),
                {{"gpu", names[i].index}, {"uuid", names[i].uuid}, {"reason", to_text(reason)}});
    }
  }
}

/// Of a lease on one of its devices.
struct PartFamily {
  std::string_view name;
  MetricType type;
  std::string_view help;
  std::optional<double> (*of)(const LeasePart& part);
};
using P = LeasePart;
constexpr std::array kPartFamilies = {
    PartFamily{"berth_lease_memory_granted_bytes", kGauge, "The budget.",
               [](const P& p) { return bytes(p.granted); }},
    PartFamily{"berth_lease_memory_used_bytes", kGauge,
               "By the processes of the lease, as the driver tells.",
               [](const P& p) { return bytes(p.used); }},
    PartFamily{"berth_lease_memory_peak_bytes", kGauge,
               "The most that was used, by the driver's or the programs' account.",
               [](const P& p) { return bytes(p.peak); }},
    PartFamily{"berth_lease_utilization_ratio", kGauge,
               "How long its processes computed, of the time since the last look.",
               [](const P& p) { return scaled(p.gpu_utilization, kPercent); }},
    PartFamily{"berth_lease_refused_allocations", kCounter,
               "Allocations that the budget did not allow.",
               [](const P& p) { return scaled(p.refused, 1); }},
};

struct NamedLease {
  const LeaseView* lease;
  std::string id;
  std::string user;
};

std::vector<NamedLease> holders(const Metrics::Facts& facts) {
  std::vector<NamedLease> named;
  for (const LeaseView& lease : facts.leases) {
    if (lease.state == LeaseState::kWaiting) continue;
    const auto user = facts.names.find(lease.user);
    named.push_back(
        {.lease = &lease,
         .id = to_text(lease.id),
         .user = user == facts.names.end() ? std::to_string(lease.user.value) : user->second});
  }
  return named;
}

void add_leases(Exposition& to, const Metrics::Facts& facts) {
  std::vector<NamedLease> leases = holders(facts);
  const std::size_t shown = std::min(leases.size(), Metrics::kLeasesMax);
  to.family("berth_leases_left_out", kGauge, "Leases without series: there are too many.")
      .sample(static_cast<double>(leases.size() - shown));
  leases.resize(shown);
  to.family("berth_lease_info", kGauge, "Always 1: which lease that is.");
  for (const auto& [lease, id, user] : leases) {
    to.sample(1, {{"lease", id},
                  {"user", user},
                  {"name", lease->request.name},
                  {"session", lease->request.session},
                  {"priority", to_text(lease->request.priority)},
                  {"state", to_text(lease->state)}});
  }
  to.family("berth_lease_idle", kGauge, "1: it computes nothing, and its memory stands still.");
  for (const auto& [lease, id, user] : leases) {
    to.sample(truth(lease->idle_since.has_value()),
              {{"lease", id}, {"user", user}, {"name", lease->request.name}});
  }
  for (const PartFamily& family : kPartFamilies) {
    to.family(family.name, family.type, family.help);
    for (const auto& [lease, id, user] : leases) {
      for (const LeasePart& part : lease->parts) {
        const std::optional<double> value = family.of(part);
        if (!value) continue;
        const std::string gpu = part.index ? std::to_string(*part.index) : "";
        to.sample(*value, {{"gpu", gpu},
                           {"uuid", to_text(part.device)},
                           {"lease", id},
                           {"user", user},
                           {"name", lease->request.name}});
      }
    }
  }
}

template <class Enum, std::size_t kCount>
void add_by_word(Exposition& to, std::string_view label,
                 const std::array<std::uint64_t, kCount>& counts) {
  for (std::size_t i = 0; i < kCount; ++i) {
    to.sample(static_cast<double>(counts[i]), {{label, to_text(static_cast<Enum>(i))}});
  }
}

void add_queue(Exposition& to, const Metrics::Facts& facts) {
  std::array<std::uint64_t, kWordsOf<LeaseState>.size()> states = {};
  std::array<std::uint64_t, kWordsOf<Priority>.size()> waiting = {};
  Duration longest;
  for (const LeaseView& lease : facts.leases) {
    ++states[static_cast<std::size_t>(lease.state)];
    if (lease.state != LeaseState::kWaiting) continue;
    ++waiting[static_cast<std::size_t>(lease.request.priority)];
    longest = std::max(longest, lease.waited);
  }
  to.family("berth_leases", kGauge, "By state; those that ended are counted below.");
  for (const LeaseState state :
       {LeaseState::kWaiting, LeaseState::kHeld, LeaseState::kSuspended, LeaseState::kReleasing}) {
    to.sample(static_cast<double>(states[static_cast<std::size_t>(state)]),
              {{"state", to_text(state)}});
  }
  to.family("berth_queue_requests", kGauge, "That wait, by priority.");
  add_by_word<Priority>(to, "priority", waiting);
  to.family("berth_queue_longest_wait_seconds", kGauge, "Of those that wait now.")
      .sample(in_seconds(longest));
}

void add_daemon(Exposition& to, const Metrics::Facts& facts) {
  const wire::DaemonView& daemon = facts.daemon;
  to.family("berth_build_info", kGauge, "Always 1: which version answers, and for which driver.")
      .sample(1, {{"version", daemon.version},
                  {"driver", daemon.probe.driver_version},
                  {"simulated", daemon.simulated ? "true" : "false"}});
  to.family("berth_connections", kGauge, "To the daemon.")
      .sample(static_cast<double>(daemon.counts.connections));
  to.family("berth_event_streams", kGauge, "Of those, listening for events.")
      .sample(static_cast<double>(daemon.counts.event_streams));
  to.family("berth_probe_restarts", kCounter, "Probe processes that were given up.")
      .sample(static_cast<double>(daemon.probe.restarts));
  to.family("berth_journal_records", kCounter, "Written, ever.")
      .sample(static_cast<double>(daemon.journal.sequence));
  to.family("berth_journal_broken", kGauge, "1: it cannot be written, and nothing is granted.")
      .sample(truth(!daemon.journal.trouble.empty()));
  to.family("process_cpu_seconds", kCounter, "Of the daemon.").sample(in_seconds(facts.own.cpu));
  if (facts.own.resident) {
    to.family("process_resident_memory_bytes", kGauge, "Of the daemon.")
        .sample(static_cast<double>(facts.own.resident->value));
  }
  if (facts.own.descriptors) {
    to.family("process_open_fds", kGauge, "Of the daemon.")
        .sample(static_cast<double>(*facts.own.descriptors));
  }
  to.family("process_start_time_seconds", kGauge, "Since 1970.")
      .sample(static_cast<double>(daemon.started.value) * kMilli);
}

}  // namespace

template <std::size_t kBounds>
void Metrics::Counts<kBounds>::add(const std::array<double, kBounds>& bounds, double seconds) {
  const auto bound = std::ranges::lower_bound(bounds, seconds);
  ++counts[static_cast<std::size_t>(bound - bounds.begin())];
  sum += seconds;
}

void Metrics::leaves(LeaseId lease, Instant now) {
  leaving_since_.insert_or_assign(lease, now);
}

void Metrics::did(const AuditEntry& entry) {
  ++verbs_[static_cast<std::size_t>(entry.verb)];
}

void Metrics::on_lease_event(core::Now now, const core::Coordinator& coordinator,
                             const core::Notify& news) {
  ++events_[static_cast<std::size_t>(news.news)];
  const std::optional<LeaseView> lease = coordinator.lease(news.lease, now);
  if (!lease) return;
  note_leaving(coordinator, now);
  if (news.news == core::LeaseEvent::kGranted) granted(*lease, now);
  if (news.news == core::LeaseEvent::kEnded && lease->result) {
    ++ended_[static_cast<std::size_t>(*lease->result)];
  }
  if (news.news == core::LeaseEvent::kCheckpointed && lease->checkpoints.last) {
    ++checkpoints_[static_cast<std::size_t>(lease->checkpoints.last->outcome)];
  }
  // It is told when it is taken, and when it is over.
  const bool taken = news.news == core::LeaseEvent::kMeasure && !lease->measures.empty() &&
                     !lease->measures.back().outcome;
  if (taken) ++measures_[static_cast<std::size_t>(lease->measures.back().measure)];
}

void Metrics::note_leaving(const core::Coordinator& coordinator, core::Now now) {
  for (const auto& [id, since] : std::exchange(leaving_since_, {})) {
    const std::optional<LeaseView> lease = coordinator.lease(id, now);
    if (!lease) continue;
    for (const LeasePart& part : lease->parts) freeing_since_[part.device] = since;
  }
}

// A hand-over is what a request waits for after another lease has let go of the memory.
void Metrics::granted(const LeaseView& lease, core::Now now) {
  waits_.add(kWaitBounds, in_seconds(lease.waited));
  std::optional<Instant> since;
  for (const LeasePart& part : lease.parts) {
    const auto freeing = freeing_since_.find(part.device);
    if (freeing == freeing_since_.end()) continue;
    since = std::max(since.value_or(freeing->second), freeing->second);
    freeing_since_.erase(freeing);
  }
  if (!since) return;
  const Duration took = now.instant - *since;
  // It was not there yet: who came later was not handed anything.
  if (took <= lease.waited) handovers_.add(kHandoverBounds, in_seconds(took));
}

void Metrics::add_happened(Exposition& to) const {
  to.family("berth_queue_wait_seconds", MetricType::kHistogram,
            "From the request to the grant, of requests that were granted.")
      .sample({.bounds = kWaitBounds, .counts = waits_.counts, .sum = waits_.sum});
  to.family("berth_handover_seconds", MetricType::kHistogram,
            "From the end of who had the memory to the grant of a request that waited for it.")
      .sample({.bounds = kHandoverBounds, .counts = handovers_.counts, .sum = handovers_.sum});
  to.family("berth_leases_ended", kCounter, "By result.");
  add_by_word<EndResult>(to, "result", ended_);
  to.family("berth_lease_events", kCounter, "What happened to leases, by event.");
  add_by_word<core::LeaseEvent>(to, "event", events_);
  to.family("berth_actions", kCounter, "What was done by users and by the daemon, by verb.");
  add_by_word<Verb>(to, "verb", verbs_);
  to.family("berth_measures", kCounter, "Taken against pressure, by measure.");
  add_by_word<Measure>(to, "measure", measures_);
  to.family("berth_checkpoints", kCounter, "That are over, by outcome.");
  add_by_word<CheckpointOutcome>(to, "outcome", checkpoints_);
}

http::Answer Metrics::answer(const core::Coordinator& coordinator, const Host& host, core::Now now,
                             std::string_view accept) const {
  const Facts facts{.devices = coordinator.devices(now),
                    .leases = coordinator.leases(now),
                    .daemon = host.describe(now),
                    .own = os::own_use(),
                    .names = host.names()};
  const wire::ExpositionForm form = wire::form_accepted(accept);
  return {.body = text(facts, form),
          .headers = {{"Content-Type", std::string(wire::content_type(form))}}};
}

std::string Metrics::text(const Facts& facts, wire::ExpositionForm form) const {
  Exposition metrics(form);
  add_devices(metrics, facts.devices);
  add_leases(metrics, facts);
  add_queue(metrics, facts);
  add_happened(metrics);
  add_daemon(metrics, facts);
  return std::move(metrics).take();
}

}  // namespace berth::server
