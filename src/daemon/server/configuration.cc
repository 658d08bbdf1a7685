// SPDX-License-Identifier: Apache-2.0
#include "server/configuration.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <system_error>
#include <variant>

#include "base/number.h"
#include "config/load.h"
#include "os/files.h"
#include "os/host.h"
#include "os/users.h"

namespace berth::server {
namespace {

/// A file that is not there is none, unless it was named.
Status read_into(std::vector<config::File>& files, config::File::Kind kind, const std::string& path,
                 bool named = false) {
  Result<std::string> text = os::read_trusted_file(path, config::kFileMax);
  if (text.ok()) {
    files.push_back({.kind = kind, .path = path, .text = *std::move(text)});
  } else if (text.error().code != Errc::kNotFound || named) {
    return text.error();
  }
  return Unit{};
}

std::optional<UserId> user_called(const std::string& name) {
  if (const auto number = parse_number<std::uint32_t>(name)) return UserId{*number};
  return os::find_user(name);
}

}  // namespace

Result<config::Loaded> read_configuration(const os::Environment& env, os::Mode mode) {
  const os::ConfigPaths paths = os::config_paths(env);
  const bool user = mode == os::Mode::kUser;
  config::Input input{.mode = user ? config::Mode::kUser : config::Mode::kSystem};
  for (const std::string& path : os::machine_config_files(paths)) {
    TRY_STATUS(read_into(input.files, config::File::Kind::kMachine, path));
  }
  if (user) {
    TRY_STATUS(
        read_into(input.files, config::File::Kind::kUser, paths.user_file, !env.config.empty()));
    TRY_STATUS(read_into(input.files, config::File::Kind::kUser, paths.user_alerts));
  }
  if (const char* level = std::getenv("BERTH_LOG"); level != nullptr) {
    input.overrides = config::overrides_of_environment({{"BERTH_LOG", level}});
  }
  auto loaded = config::load(input);
  if (auto* good = std::get_if<config::Loaded>(&loaded)) return std::move(*good);
  std::string text;
  for (const config::Problem& problem : std::get<config::Problems>(loaded)) {
    text += (text.empty() ? "" : "\n") + to_text(problem);
  }
  return Error{Errc::kInvalid, text};
}

Admins admins_of(const config::Config& config) {
  Admins admins{.users = {UserId{0}}, .groups = {}};
  for (const std::string& name : config.access.admins) {
    if (name.starts_with('@')) {
      admins.groups.push_back(name.substr(1));
    } else if (const auto user = user_called(name)) {
      admins.users.insert(*user);
    }
  }
  return admins;
}

core::Settings core_settings(const config::Config& config,
                             std::vector<std::string>& unknown_users) {
  core::Settings settings = config.core;
  for (const auto& [name, user] : config.users) {
    const auto id = user_called(name);
    if (!id) {
      unknown_users.push_back(name);
      continue;
    }
    core::UserLimits limits = settings.limits_default;
    limits.vram_max = user.vram.value_or(limits.vram_max);
    limits.leases_max = user.leases.value_or(limits.leases_max);
    limits.priority_max = user.max_priority.value_or(limits.priority_max);
    settings.limits.emplace(*id, limits);
  }
  return settings;
}

static DefaultVram default_vram(const config::Config& config) {
  switch (config.policy.default_vram.kind) {
    case config::DefaultVram::Kind::kAsk:
      return {.share = Share::kBudget, .vram = std::nullopt};
    case config::DefaultVram::Kind::kSize:
      return {.share = Share::kBudget, .vram = config.policy.default_vram.size};
    case config::DefaultVram::Kind::kLearned:
      return {.share = Share::kExclusive, .vram = std::nullopt, .learned = true};
    case config::DefaultVram::Kind::kExclusive:
      break;
  }
  return {.share = Share::kExclusive, .vram = std::nullopt};
}

ServiceSettings service_settings(const config::Config& config, const os::Paths& daemon_paths,
                                 bool is_simulated) {
  return {.hello = {.version = BERTH_VERSION,
                    .world = daemon_paths.world,
                    .simulated = is_simulated,
                    .pid = ::getpid()},
          .own_user = os::own_user(),
          .show_all_commands = config.access.show_commands == config::ShowCommands::kAll,
          .streams_per_user = config.limits.event_streams,
          .pace = {.per_second = config.limits.requests_per_second,
                   .at_once = config.limits.requests_at_once},
          .host = os::host_name(),
          .default_vram = default_vram(config),
          .environment = {
              .devices_by_uuid = config.policy.visible_devices == config::VisibleDevices::kUuid,
              .socket = daemon_paths.socket}};
}

HistorySettings history_settings(const config::Config& config) {
  return {.record = config.history.record,
          .retention = {.second = config.history.second,
                        .minute = config.history.minute,
                        .hour = config.history.hour,
                        .size_max = config.history.size_max},
          .sample_interval = config.gpu.sample_interval};
}

enforce::LeaseFiles::Settings lease_file_settings(const config::Config& config,
                                                  const std::string& directory) {
  using Readers = enforce::LeaseFiles::Readers;
  const bool machine = config.mode == config::Mode::kSystem;
  return {.root = directory,
          .readers = machine ? Readers::kAllUsers : Readers::kOwnUser,
          .context = config.core.context_estimate,
          .shown = {.physical_total = config.policy.report_total == config::Reported::kPhysical,
                    .by_nvml = config.policy.report_nvml == config::Reported::kBudget}};
}

}  // namespace berth::server
