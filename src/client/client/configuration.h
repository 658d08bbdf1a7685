// SPDX-License-Identifier: Apache-2.0
// Finds and reads the files and variables that make up the configuration. What they mean is decided
// in config/. Any thread; blocks on the disk.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/load.h"
#include "os/paths.h"

namespace berth::client {

struct ConfigurationInput {
  config::Input input;
  std::vector<std::string> passed_over;  // Why a project's file was not read: sentences.
};

enum class ProjectFile : std::uint8_t { kRead, kIgnore };

/// The machine's files, the user's, and that of the project in or above `directory`. Files that are
/// not there are none; an error is a file that cannot be read or that others may write
/// (kPermission) and one that BERTH_CONFIG names and that is not there (kNotFound).
Result<ConfigurationInput> find_configuration(const os::Environment& env,
                                              const std::string& directory, ProjectFile project);

/// All of `environ`, by name.
std::map<std::string, std::string> environment_variables();

}  // namespace berth::client
