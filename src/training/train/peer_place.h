// SPDX-License-Identifier: Apache-2.0
// Rank of this process among those that train one model together, as torchrun sets it in the
// environment (https://pytorch.org/docs/stable/elastic/run.html, «Environment Variables»). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::train {

struct PeerPlace {
  std::uint32_t rank = 0;  // Below size.
  std::uint32_t size = 1;
  std::string address;  // Where rank 0 is to be found.
  std::uint16_t port = 0;
};

using Variable = std::function<std::optional<std::string>(std::string_view name)>;

/// RANK and WORLD_SIZE, or srun's SLURM_PROCID and SLURM_NTASKS; MASTER_ADDR; MASTER_PORT, 29500
/// where it is not set. Nothing: this process trains alone, which it does too where no MASTER_ADDR
/// goes with srun's numbers. kInvalid, naming the variable, where they contradict one another.
Result<std::optional<PeerPlace>> peer_place(const Variable& variable);

/// kInvalid where a batch of so many rows cannot be dealt out evenly.
Status check_rows(const PeerPlace& place, std::int64_t rows);

}  // namespace berth::train
