// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include "core/limits.h"

namespace berth::config {

Config built_in(Mode mode) {
  Config config;
  config.mode = mode;
  if (mode == Mode::kUser) {
    constexpr std::uint32_t kAsManyAsDescriptors = 65'536;
    config.limits = {.waiting = limits::kWaitingMax,
                     .leases = limits::kLeasesMax,
                     .connections = kAsManyAsDescriptors,
                     .event_streams = kAsManyAsDescriptors};
  }
  return config;
}

std::string to_text(const Origin& origin) {
  if (origin.layer == Origin::Layer::kBuiltIn) return "built-in";
  if (origin.line == 0) return origin.where;
  return origin.where + ":" + std::to_string(origin.line);
}

}  // namespace berth::config
