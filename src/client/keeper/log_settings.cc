// SPDX-License-Identifier: Apache-2.0
#include "keeper/log_settings.h"

#include <variant>

#include "client/configuration.h"
#include "config/load.h"

namespace berth::keeper {

Bytes log_max(const os::Environment& env) {
  const Bytes built_in = config::Config{}.jobs.log_max;
  const auto found = client::find_configuration(env, ".", client::ProjectFile::kIgnore);
  if (!found.ok()) return built_in;
  const auto loaded = config::load(found->input);
  const auto* good = std::get_if<config::Loaded>(&loaded);
  return good != nullptr ? good->config.jobs.log_max : built_in;
}

}  // namespace berth::keeper
