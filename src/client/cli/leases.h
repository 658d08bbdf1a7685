// SPDX-License-Identifier: Apache-2.0
// Asks the daemon for leases: for those that words on a command line mean, for all of them, and for
// what waiting ones wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/daemon_session.h"
#include "cli/options.h"
#include "cli/render/status.h"
#include "model/lease.h"
#include "wire/lease.h"

namespace berth::cli {

/// Declares the operand LEASE...; "[LEASE...]" where none will do.
void declare_leases(Options& options, std::vector<std::string>& words,
                    std::string_view form = "LEASE...");

/// Each lease once, in the order of the words. Nothing if a word means none: that was said
/// (ExitCode::kNoInput, or kUsage for a word that makes no sense).
std::optional<std::vector<LeaseView>> select_leases(DaemonSession& session,
                                                    const std::vector<std::string>& words);

/// The one that a word means. Nothing if it means none or several: that was said.
std::optional<LeaseView> select_one(DaemonSession& session, const std::string& word);

/// What `render` gives for each of them, one after the other; nothing if it gave nothing for one.
std::optional<std::string> render_each(
    DaemonSession& session, const std::vector<std::string>& words,
    const std::function<std::optional<std::string>(const LeaseView&)>& render);

enum class Leases : std::uint8_t { kLive, kAll };

/// Bodies as of GET /v1/leases, the one with the youngest first, and at least one; nothing if that
/// failed, which was said.
std::optional<std::vector<std::string>> ask_leases(DaemonSession& session, Leases which);

/// What they say together: oldest first.
Result<wire::LeaseList> decode_pages(const std::vector<std::string>& pages);

/// The queue as it came; the first `count` with their reasons. One that has left the queue in the
/// meantime has none.
std::vector<Waiting> with_reasons(std::vector<LeaseView> queue, std::size_t count,
                                  DaemonSession& session);

}  // namespace berth::cli
