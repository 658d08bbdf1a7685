// SPDX-License-Identifier: Apache-2.0
// The list of leases as the daemon gives it: in pages, where there are many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/daemon_session.h"
#include "wire/lease.h"

namespace berth::cli {

enum class Leases : std::uint8_t { kLive, kAll };

/// Bodies as of GET /v1/leases, the one with the youngest first, and at least one; nothing if that
/// failed, which was said.
std::optional<std::vector<std::string>> ask_leases(DaemonSession& session, Leases which);

/// What they say together: oldest first.
Result<wire::LeaseList> decode_pages(const std::vector<std::string>& pages);

}  // namespace berth::cli
