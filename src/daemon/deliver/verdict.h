// SPDX-License-Identifier: Apache-2.0
// Meaning of an answer over HTTP for a delivery. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "wire/delivery.h"

namespace berth::deliver {

struct HttpAnswer {
  std::uint32_t status = 0;
  std::optional<Duration> retry_after;
};

/// 2xx is delivered; 408, 425, 429 and 5xx say to try again; all else is refused, redirects too.
/// A pause is at most a day.
wire::DeliveryOutcome judge(const std::string& host, const HttpAnswer& answer);

}  // namespace berth::deliver
