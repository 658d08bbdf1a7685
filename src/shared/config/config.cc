// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include "core/limits.h"

namespace berth::config {

namespace {

// Plain use of a device, and allocations that a budget refused: told, and nothing is done about it.
std::map<std::string, AlertRule> built_in_alerts() {
  const auto used = [](std::uint32_t percent, std::uint32_t clear) {
    return alerts::Expression{.source = alerts::Source::kGpuMemUsed,
                              .threshold = alerts::Percent{percent},
                              .clear = alerts::Percent{clear},
                              .lasting = seconds(10)};
  };
  return {{"gpu-high", {.when = used(62, 55)}},
          {"gpu-critical", {.when = used(88, 80), .severity = Severity::kCritical}},
          {"out-of-memory", {.when = alerts::Expression{.source = alerts::Source::kLeaseRefused}}}};
}

}  // namespace

Config built_in(Mode mode) {
  Config config;
  config.mode = mode;
  config.alerts = built_in_alerts();
  core::UserLimits& each_user = config.core.limits_default;
  if (mode == Mode::kSystem) each_user.priority_max = Priority::kNormal;
  if (mode == Mode::kUser) {
    constexpr std::uint32_t kAsManyAsDescriptors = 65'536;
    each_user.waiting_max = limits::kWaitingMax;
    each_user.leases_max = limits::kLeasesMax;
    config.limits = {.connections = kAsManyAsDescriptors,
                     .event_streams = kAsManyAsDescriptors,
                     .requests_per_second = 0};
  }
  return config;
}

std::string to_text(const Origin& origin) {
  if (origin.layer == Origin::Layer::kBuiltIn) return "built-in";
  if (origin.line == 0) return origin.where;
  return origin.where + ":" + std::to_string(origin.line);
}

}  // namespace berth::config
