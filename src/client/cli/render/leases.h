// SPDX-License-Identifier: Apache-2.0
// Leases for people: the table of `ps` and `status`, and all that is known of one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "cli/render/context.h"
#include "cli/render/table.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

enum class Detail : std::uint8_t { kTable, kWide };

/// A row a lease. External users of the devices stand below, those of `devices` that is.
Table lease_table(std::span<const LeaseView> leases, std::span<const DeviceView> devices,
                  Detail detail, const RenderContext& context);

/// A process below a lease or a device, in a table without details; all texts are harmless.
struct ProcessRow {
  std::string label;  // "└ 4711 me"
  std::string name;
  std::string gpus;
  std::optional<Bytes> used = {};
  std::optional<std::uint32_t> busy = {};  // Percent.
  std::string command = {};
};
/// An unmanaged process, as it stands in that table.
struct UnmanagedRow {
  const UnmanagedProcess* process;
  std::uint32_t gpu;
};
using LeaseLine = std::variant<const LeaseView*, UnmanagedRow, ProcessRow>;
/// The same table of lines in any order.
Table lease_table(std::span<const LeaseLine> lines, Detail detail, const RenderContext& context);

/// `berth show`: one fact a line.
std::string lease_details(const LeaseView& lease, const RenderContext& context);

}  // namespace berth::cli
