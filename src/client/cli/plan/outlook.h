// SPDX-License-Identifier: Apache-2.0
// An outlook on a plan: which of its sessions runs until when, and when the others would start, and
// why not now. Decides nothing, asks nobody. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/plan/steps.h"
#include "core/settings.h"
#include "model/bodies.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

struct OutlookRow {
  std::string session;
  UpStep::What what = UpStep::What::kStart;
  std::optional<LeaseId> lease;
  std::optional<Duration> starts;         // From now on; absent: not known, or it has ended.
  std::optional<Duration> ends;           // Absent: not known, or it has ended.
  std::optional<WhyView::Reason> reason;  // Why it would wait; absent: it would not.
  std::vector<std::string> holders;  // Who has what it waits for: sessions, and others' leases.
};

struct Present {
  UnixMs now;
  std::vector<DeviceView> devices;
  std::vector<LeaseView> leases;  // Live ones that do not wait, by id.
  std::vector<LeaseView> queue;   // In order.
};

/// A row for each of `steps`, whose requests are `requests`: what `berth up` would ask for now.
std::vector<OutlookRow> outlook(const Present& present, const std::vector<UpStep>& steps,
                                const std::vector<RequestBody>& requests, UserId user,
                                const core::Settings& settings);

}  // namespace berth::cli
