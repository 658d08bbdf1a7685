// SPDX-License-Identifier: Apache-2.0
// Asks NVML for the figures of `berth query`. It is asked in this process, so that it is the NVML
// of a program in the lease: where the lease shows the budget's card, this is it. A driver that
// hangs holds the verb up. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/query/fields.h"

namespace berth::cli {

struct Seen {
  std::vector<GpuFacts> gpus;
  std::vector<ProgramFacts> programs;
};

/// Of GPUs by numbers, UUIDs and PCI addresses, with commas; empty: of all. `status`: where nothing
/// was seen, NVML's number for why, as nvidia-smi ends with it.
Result<Seen> gather(const std::string& wanted, int& status);

}  // namespace berth::cli
