// SPDX-License-Identifier: Apache-2.0
#include "deliver/verdict.h"

#include <algorithm>

namespace berth::deliver {
namespace {

using Outcome = wire::DeliveryOutcome::Kind;

constexpr Duration kPauseMax = hours(24);

Outcome outcome_of(std::uint32_t status) {
  if (status >= 200 && status < 300) return Outcome::kDelivered;
  const bool is_passing = status == 408 || status == 425 || status == 429 || status >= 500;
  return is_passing ? Outcome::kRetry : Outcome::kRefused;
}

}  // namespace

wire::DeliveryOutcome judge(const std::string& host, const HttpAnswer& answer) {
  wire::DeliveryOutcome outcome{.kind = outcome_of(answer.status), .status = answer.status};
  outcome.reason = host + " answered " + std::to_string(answer.status);
  if (answer.status >= 300 && answer.status < 400) {
    outcome.reason += ": no redirect is followed; give the URL that it leads to";
  }
  if (outcome.kind == Outcome::kRetry && answer.retry_after) {
    outcome.retry_after = std::min(*answer.retry_after, kPauseMax);
  }
  return outcome;
}

}  // namespace berth::deliver
