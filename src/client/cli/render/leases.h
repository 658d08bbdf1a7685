// SPDX-License-Identifier: Apache-2.0
// Leases for people: the table of `ps` and `status`, and all that is known of one. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cli/render/context.h"
#include "cli/render/table.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

enum class Detail : std::uint8_t { kTable, kWide };

/// A row a lease. External users of the devices stand below, those of `devices` that is.
Table lease_table(std::span<const LeaseView> leases, std::span<const DeviceView> devices,
                  Detail detail, const RenderContext& context);

/// `berth show`: one fact a line.
std::string lease_details(const LeaseView& lease, const RenderContext& context);

}  // namespace berth::cli
