// SPDX-License-Identifier: Apache-2.0
#include "sim/values.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace berth::sim {
namespace {

constexpr double kWholeDevice = 64.0 * 1024 * 1024 * 1024;
constexpr double kHour = 3.6e12;  // In nanoseconds.
// Hours until a request for a whole device and an hour is due: low, normal, high, urgent.
constexpr std::array kAllowances = {48.0, 24.0, 12.0, 6.0};
constexpr double kYear = 24.0 * 365;
constexpr double kRounding = 1e3;  // Nanoseconds.

double due(const ReferenceLease& lease) {
  const Request& request = lease.request;
  double told = 1e300;
  if (request.eta) told = static_cast<double>(request.eta->ns) / kHour;
  if (request.limit) told = std::min(told, static_cast<double>(request.limit->ns) / kHour);
  const double expected = told == 1e300 ? 1 : std::min(std::max(told, 10.0 / 3'600), 24.0 * 31);
  double part = 1;
  if (request.share != Share::kExclusive) {
    part =
        std::min(std::max(static_cast<double>(request.vram.value) / kWholeDevice, 1.0 / 64), 1.0);
  }
  const auto named = static_cast<double>(request.devices.size());
  const double breadth = part * (named > 0 ? named : request.device_count);
  double allowance = kAllowances.at(static_cast<std::size_t>(request.priority)) *
                     std::pow(breadth, 2) * std::pow(expected, 0.25);
  if (request.may_yield || request.requeue_grace) allowance *= 0.5;
  return static_cast<double>(lease.queued_at().ns) + std::min(allowance, kYear) * kHour;
}

}  // namespace

std::string check_value_order(const Observations& observations, const std::vector<LeaseId>& queue) {
  if (observations.settings.order != Order::kValue) return {};
  const ReferenceLease* before = nullptr;
  for (const LeaseId id : queue) {
    const ReferenceLease* lease = observations.journal.find(id);
    if (lease == nullptr || lease->state != ReferenceLease::State::kWaiting) return {};
    if (before != nullptr && due(*before) > due(*lease) + kRounding) {
      return fmt::format("lease {} is before lease {} in the queue, which is due {:.3f} s earlier",
                         before->id.value, id.value, (due(*before) - due(*lease)) * 1e-9);
    }
    before = lease;
  }
  return {};
}

}  // namespace berth::sim
