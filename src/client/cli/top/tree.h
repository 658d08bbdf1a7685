// SPDX-License-Identifier: Apache-2.0
// The tree of processes of `berth top`: those of each lease below it, children below their parents,
// and those without a lease below their device. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/render/context.h"
#include "cli/render/leases.h"
#include "cli/top/state.h"

namespace berth::cli::top {

/// Of one lease; the others are counted.
inline constexpr std::size_t kProcessesShown = 16;

/// The members of a lease, and its command.
std::vector<Process> named_by(const LeaseView& lease);

/// What the daemon remembers of processes of leases, as of the last step that it tells.
std::vector<ProcessFacts> processes_in(const history::Past& past);

/// A line of the table.
struct TreeLine {
  LeaseLine line;
  LeaseId lease = {};  // That it belongs to; 0: to none.
  bool is_lease = false;
};
/// Leases, and below each its processes.
std::vector<TreeLine> tree_of(const State& state, const RenderContext& context);
/// Leases alone; unmanaged processes follow.
std::vector<TreeLine> list_of(const State& state);

}  // namespace berth::cli::top
