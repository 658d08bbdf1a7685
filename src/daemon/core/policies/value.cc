// SPDX-License-Identifier: Apache-2.0
// value: what costs others least, and what is urgent, comes first. A request is due when it was
// asked for and an allowance later, and the earliest that is due comes next. See Note [Allowances].
//
// Note [Allowances]: the weight of a request is by how much it is overdue; it grows with each
// moment that it waits, without bound, and the same for all. So the difference of two weights does
// not depend on the time, and a rank is a constant. Those who ask for much have a long allowance,
// since while they wait for their memory to come together all others wait for them; it grows with
// the square of the part of a device, or of the number of devices, and with the fourth root of the
// time: that is a guess, and where none was told it is an hour. A level of priority halves it, and
// so does leave to be stopped: that memory can be had back.
#include <algorithm>
#include <cmath>

#include "core/limits.h"
#include "core/policies/rank.h"

namespace berth::core {
namespace {

double hours_of(Duration time) {
  return static_cast<double>(time.ns) / static_cast<double>(hours(1).ns);
}

// In devices; of all of them together.
double breadth_of(const Request& request) {
  const double part = static_cast<double>(request.vram.value) /
                      static_cast<double>(limits::kWholeDeviceCounts.value);
  const bool whole = request.share == Share::kExclusive;
  const std::size_t devices =
      request.devices.empty() ? request.device_count : request.devices.size();
  return static_cast<double>(devices) * (whole ? 1 : std::clamp(part, limits::kValuePartMin, 1.0));
}

Duration expected_of(const Request& request) {
  const Duration told =
      std::min(request.eta.value_or(Duration::max()), request.limit.value_or(Duration::max()));
  const Duration expected = told == Duration::max() ? limits::kValueTimeUnknown : told;
  return std::clamp(expected, limits::kValueTimeMin, limits::kValueTimeMax);
}

}  // namespace

Duration value_allowance(const Request& request) {
  const double breadth = breadth_of(request);
  double allowance = hours_of(limits::kValueAllowance) * breadth * breadth *
                     std::sqrt(std::sqrt(hours_of(expected_of(request))));
  for (int level = 0; level < static_cast<int>(request.priority); ++level) allowance /= 2;
  if (request.may_yield || request.requeue_grace) allowance /= 2;
  const double most = hours_of(limits::kValueAllowanceMax);
  return {static_cast<std::int64_t>(std::min(allowance, most) * static_cast<double>(hours(1).ns))};
}

Ranking value_ranking(const Lease& lease) {
  return {.group = {}, .rank = (lease.waits_since() + value_allowance(lease.request)).ns};
}

}  // namespace berth::core
