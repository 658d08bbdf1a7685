// SPDX-License-Identifier: Apache-2.0
// Options that several verbs have which ask for a lease. Declarations only; what they mean together
// is decided in run/request.h.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/options.h"
#include "cli/run/request.h"

namespace berth::cli {

/// -m, -x, --share, -g, --mixed
void declare_room(Options& options, RequestOptions& request);
/// -p, --wait, --no-wait
void declare_turn(Options& options, RequestOptions& request);
/// Of --at: a moment, or a time from now on.
Setter into_start(std::optional<UnixMs>& start);
/// --after, --after-ok, --after-fail, --at
void declare_start(Options& options, RequestOptions& request);
/// What is said to messages to the holder of a lease with programs.
void declare_messages(Options& options, Request& request);
/// -n, -t, --session
void declare_names(Options& options, RequestOptions& request);

/// Where --session was not given: that of BERTH_SESSION, or none.
void name_session(RequestOptions& request);

/// Whether the verb starts a command.
enum class Carried : std::uint8_t { kWithACommand, kWithoutACommand };
/// Those that stand in the table of Request, in its order: what is said is told as it is.
void declare_carried(Options& options, Request& request, Carried which);

}  // namespace berth::cli
