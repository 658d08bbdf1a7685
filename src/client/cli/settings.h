// SPDX-License-Identifier: Apache-2.0
// The configuration, for a verb: read, or said what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/verb.h"
#include "config/config.h"

namespace berth::cli {

/// Nothing if they are invalid, after that was said on stderr: a verb then ends with
/// ExitCode::kConfig.
/// Brings the terminal of the invocation in line with the settings.
enum class Complain : std::uint8_t { kNo, kYes };
std::optional<config::Config> settings_of(Invocation& invocation,
                                          Complain complaining = Complain::kYes);

/// As settings_of, for a verb that asks for a lease: with the defaults of the project in which it
/// is called. What of these is passed over is said too.
std::optional<config::Config> request_settings_of(Invocation& invocation);

}  // namespace berth::cli
