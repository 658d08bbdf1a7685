// SPDX-License-Identifier: Apache-2.0
#include "train/peer_place.h"

#include <limits>

#include "base/number.h"

namespace berth::train {
namespace {

constexpr std::uint16_t kPort = 29'500;  // PyTorch's own default.

Result<std::uint32_t> number_in(const Variable& variable, std::string_view name,
                                std::uint32_t most) {
  const std::optional<std::string> text = variable(name);
  if (!text) return Error{Errc::kInvalid, std::string(name) + " is not set"};
  const auto number = parse_number<std::uint32_t>(*text);
  if (number && *number <= most) return *number;
  return Error{Errc::kInvalid, std::string(name) + " is '" + *text +
                                   "', and not a number from 0 to " + std::to_string(most)};
}

}  // namespace

Result<std::optional<PeerPlace>> peer_place(const Variable& variable) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
  const bool is_slurms = !variable("WORLD_SIZE") && !variable("RANK");
  const std::string size_name = is_slurms ? "SLURM_NTASKS" : "WORLD_SIZE";
  const std::string rank_name = is_slurms ? "SLURM_PROCID" : "RANK";
  const std::optional<std::string> address = variable("MASTER_ADDR");
  // srun sets its numbers for every program, whether it is one of many or not.
  if (is_slurms && (!address || !variable(size_name))) return std::optional<PeerPlace>{};
  TRY(size, number_in(variable, size_name, kMost));
  TRY(rank, number_in(variable, rank_name, kMost));
  if (rank >= size) {
    return Error{Errc::kInvalid, rank_name + " is " + std::to_string(rank) + ", but " + size_name +
                                     " is " + std::to_string(size) + ": ranks count from 0"};
  }
  if (size == 1) return std::optional<PeerPlace>{};
  if (!address || address->empty()) {
    return Error{Errc::kInvalid, size_name + " is " + std::to_string(size) +
                                     ", but MASTER_ADDR is not set: it says where rank 0 is"};
  }
  PeerPlace place{.rank = rank, .size = size, .address = *address, .port = kPort};
  if (variable("MASTER_PORT")) {
    TRY(port, number_in(variable, "MASTER_PORT", std::numeric_limits<std::uint16_t>::max()));
    // Of 0 each process would take another.
    if (port == 0) return Error{Errc::kInvalid, "MASTER_PORT is 0: name the port of rank 0"};
    place.port = static_cast<std::uint16_t>(port);
  }
  return std::optional(place);
}

Status check_rows(const PeerPlace& place, std::int64_t rows) {
  if (rows % place.size == 0) return Unit{};
  return Error{Errc::kInvalid, "data.rows: " + std::to_string(rows) +
                                   " rows cannot be dealt out evenly to " +
                                   std::to_string(place.size) + " processes"};
}

}  // namespace berth::train
