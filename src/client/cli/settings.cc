// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "client/configuration.h"
#include "config/load.h"
#include "os/paths.h"

namespace berth::cli {
namespace {

// Of files and environment. A project has no say in how things are shown.
Result<config::Loaded> read_settings(client::ProjectFile project) {
  std::error_code error;
  const std::string directory = std::filesystem::current_path(error);  // Empty: it is gone.
  TRY(found, client::find_configuration(os::read_environment(), directory, project));
  auto loaded = config::load(found.input);
  if (auto* good = std::get_if<config::Loaded>(&loaded)) {
    for (const std::string& sentence : found.passed_over) complain("berth: " + sentence + "\n");
    return std::move(*good);
  }
  std::string lines;
  for (const config::Problem& problem : std::get<config::Problems>(loaded)) {
    lines += "\n  " + to_text(problem);
  }
  return Error{Errc::kInvalid, "the configuration is invalid:" + lines};
}

std::optional<config::Config> settings(Invocation& invocation, client::ProjectFile project,
                                       Complain complaining) {
  auto settings = read_settings(project);
  if (!settings.ok()) {
    if (complaining == Complain::kYes) complain("berth: " + settings.error().message + "\n");
    return std::nullopt;
  }
  for (const config::Problem& problem : settings->notes) {
    complain("berth: " + to_text(problem) + "\n");
  }
  const config::Config& config = settings->config;
  invocation.terminal = find_terminal(invocation.common.colour.value_or(config.client.color));
  return std::move(settings->config);
}

}  // namespace

std::optional<config::Config> settings_of(Invocation& invocation, Complain complaining) {
  return settings(invocation, client::ProjectFile::kIgnore, complaining);
}

std::optional<config::Config> request_settings_of(Invocation& invocation) {
  return settings(invocation, client::ProjectFile::kRead, Complain::kYes);
}

}  // namespace berth::cli
