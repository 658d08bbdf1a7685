// SPDX-License-Identifier: Apache-2.0
// Facts that an expression finds in a device or a lease, and how they read for a person. Within
// alerts only. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alerts/expression.h"
#include "model/alert.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::alerts {

struct Finding {
  std::optional<bool> so;     // Absent: not known.
  std::optional<bool> clear;  // Beyond the value at which it is over.
  std::optional<std::uint64_t> value;
  Alert::Unit unit = Alert::Unit::kNone;
  std::string text;
};
Finding find_in(const DeviceView& device, const Expression& expression);
Finding find_in(const LeaseView& lease, const Expression& expression);

/// Whether the expression is about this lease at all.
bool concerns(const Expression& expression, const LeaseView& lease);

std::string name_of(const DeviceView& device);  // "GPU 0 (RTX 5080)"
std::string name_of(const LeaseView& lease);    // "lease 12 (train)"
/// "lease 12 (train) has ended: failed". `reason` is what the audit says of it, if it is an event
/// that only the audit has.
std::string describe(Source event, const LeaseView& lease, const std::string& reason = {});
/// What can be done about a lease, the most telling first.
std::vector<Alert::Action> actions_for(const LeaseView& lease);

}  // namespace berth::alerts
