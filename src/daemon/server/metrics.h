// SPDX-License-Identifier: Apache-2.0
// Figures for Prometheus, GET /metrics: how devices and leases stand, from the coordinator at that
// moment, and what has happened since the daemon started, which is counted here. docs/metrics.md
// lists them. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/coordinator.h"
#include "core/effect.h"
#include "http/message.h"
#include "model/audit_entry.h"
#include "model/view.h"
#include "os/own_use.h"
#include "server/host.h"
#include "wire/daemon.h"
#include "wire/exposition.h"
#include "wire/viewer.h"

namespace berth::server {

class Metrics {
 public:
  /// Of leases that hold something; of those beyond that, the youngest, only the number is told.
  static constexpr std::size_t kLeasesMax = 2'000;

  /// The programs of a lease have ended, or are told to: its memory is about to come free.
  void leaves(LeaseId lease, Instant now);
  void on_lease_event(core::Now now, const core::Coordinator& coordinator,
                      const core::Notify& news);
  void did(const AuditEntry& entry);

  struct Facts {
    std::vector<DeviceView> devices;
    std::vector<LeaseView> leases;  // Those that have not ended.
    wire::DaemonView daemon;
    os::OwnUse own;
    const wire::UserNames& names;
  };
  std::string text(const Facts& facts, wire::ExpositionForm form) const;
  /// In the form that is accepted, of what is so now.
  http::Answer answer(const core::Coordinator& coordinator, const Host& host, core::Now now,
                      std::string_view accept) const;

 private:
  static constexpr std::array kWaitBounds = {0.001, 0.01, 0.1,   1.0,    10.0,
                                             60.0,  300., 1800., 7200.0, 43200.0};
  static constexpr std::array kHandoverBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                 0.025,  0.1,   0.5,    1.0,   5.0};
  template <std::size_t kBounds>
  struct Counts {
    std::array<std::uint64_t, kBounds + 1> counts = {};
    double sum = 0;
    void add(const std::array<double, kBounds>& bounds, double seconds);
  };

  void granted(const LeaseView& lease, core::Now now);
  void note_leaving(const core::Coordinator& coordinator, core::Now now);
  void add_happened(wire::Exposition& to) const;

  std::map<LeaseId, Instant> leaving_since_;   // Until it is known of which devices.
  std::map<DeviceId, Instant> freeing_since_;  // From then on until the next grant there.
  Counts<kWaitBounds.size()> waits_;
  Counts<kHandoverBounds.size()> handovers_;
  std::array<std::uint64_t, kWordsOf<EndResult>.size()> ended_ = {};
  std::array<std::uint64_t, kWordsOf<core::LeaseEvent>.size()> events_ = {};
  std::array<std::uint64_t, kWordsOf<Verb>.size()> verbs_ = {};
  std::array<std::uint64_t, kWordsOf<Measure>.size()> measures_ = {};
  std::array<std::uint64_t, kWordsOf<CheckpointOutcome>.size()> checkpoints_ = {};
};

}  // namespace berth::server
