// SPDX-License-Identifier: Apache-2.0
// The daemon's configuration: which files it reads, and what their values mean for engine and
// service. All or nothing: with one problem nothing is taken over. Blocks on the disk and on the
// name service; at start and at a reload only.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "config/config.h"
#include "config/load.h"
#include "enforce/lease_files.h"
#include "os/paths.h"
#include "server/engine.h"
#include "server/history_recorder.h"
#include "server/service.h"

namespace berth::server {

/// The machine's files, and in user mode the user's own. kInvalid: a line for each problem;
/// kPermission: a file that others may write.
Result<config::Loaded> read_configuration(const os::Environment& env, os::Mode mode);

struct Admins {
  std::set<UserId> users;
  std::vector<std::string> groups;
};
Admins admins_of(const config::Config& config);

/// With the limits of single users. Names that nobody has are passed over, and returned in
/// `unknown_users`.
core::Settings core_settings(const config::Config& config, std::vector<std::string>& unknown_users);
ServiceSettings service_settings(const config::Config& config, const os::Paths& paths,
                                 bool is_simulated);
HistorySettings history_settings(const config::Config& config);
/// `directory`: of all leases' directories.
enforce::LeaseFiles::Settings lease_file_settings(const config::Config& config,
                                                  const std::string& directory);

}  // namespace berth::server
