// SPDX-License-Identifier: Apache-2.0
// Asks the daemon for the leases that words on a command line mean.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/daemon_session.h"
#include "cli/options.h"
#include "model/lease.h"

namespace berth::cli {

/// Declares the operand LEASE...; "[LEASE...]" where none will do.
void declare_leases(Options& options, std::vector<std::string>& words,
                    std::string_view form = "LEASE...");

/// Each lease once, in the order of the words. Nothing if a word means none: that was said
/// (ExitCode::kNoInput, or kUsage for a word that makes no sense).
std::optional<std::vector<LeaseView>> select_leases(DaemonSession& session,
                                                    const std::vector<std::string>& words);

/// What `render` gives for each of them, one after the other; nothing if it gave nothing for one.
std::optional<std::string> render_each(
    DaemonSession& session, const std::vector<std::string>& words,
    const std::function<std::optional<std::string>(const LeaseView&)>& render);

}  // namespace berth::cli
