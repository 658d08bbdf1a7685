// SPDX-License-Identifier: Apache-2.0
#include "client/configuration.h"

#include <unistd.h>

#include <optional>
#include <string_view>
#include <utility>

#include "os/files.h"

namespace berth::client {
namespace {

using Kind = config::File::Kind;

// Absent: there is no such file.
Result<std::optional<config::File>> read(Kind kind, const std::string& path) {
  Result<std::string> text = os::read_trusted_file(path, config::kFileMax);
  if (text.ok()) return std::optional(config::File{kind, path, *std::move(text)});
  if (text.error().code == Errc::kNotFound) return std::optional<config::File>();
  return text.error();
}

Status read_into(std::vector<config::File>& files, Kind kind, const std::string& path) {
  TRY(file, read(kind, path));
  if (file) files.push_back(*std::move(file));
  return Unit{};
}

}  // namespace

Result<ConfigurationInput> find_configuration(const os::Environment& env,
                                              const std::string& directory, ProjectFile project) {
  ConfigurationInput found;
  std::vector<config::File>& files = found.input.files;
  const os::ConfigPaths paths = os::config_paths(env);
  for (const std::string& path : os::machine_config_files(paths)) {
    TRY_STATUS(read_into(files, Kind::kMachine, path));
  }
  const std::size_t of_machine = files.size();
  TRY_STATUS(read_into(files, Kind::kUser, paths.user_file));
  if (files.size() == of_machine && !env.config.empty()) {
    return Error{Errc::kNotFound, "there is no " + env.config + ", which BERTH_CONFIG names"};
  }
  TRY_STATUS(read_into(files, Kind::kUser, paths.user_alerts));
  found.input.overrides = config::overrides_of_environment(environment_variables());
  if (project == ProjectFile::kIgnore) return found;

  if (const auto path = os::find_project_config(directory, env.home)) {
    // It is the project's, not the user's: what is wrong with it stops nobody.
    const Status read = read_into(files, Kind::kProject, *path);
    if (!read.ok()) found.passed_over.push_back(read.error().message + "; it is passed over");
  }
  return found;
}

std::map<std::string, std::string> environment_variables() {
  std::map<std::string, std::string> variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable = *at;
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return variables;
}

}  // namespace berth::client
