// SPDX-License-Identifier: Apache-2.0
// The list of leases as the daemon gives it, put together again where it comes in pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/conversation.h"

namespace berth::cli {

enum class Leases : std::uint8_t { kLive, kAll };

/// A body as of GET /v1/leases, with all items; nothing if that failed, which was said.
std::optional<std::string> ask_leases(Conversation& conversation, Leases which);

}  // namespace berth::cli
