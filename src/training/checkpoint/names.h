// SPDX-License-Identifier: Apache-2.0
// Names of the files of a checkpoint directory, and which of them are no longer kept. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/checkpoint.h"

namespace berth::checkpoint {

/// "regular-00000012-step-3400.safetensors". Saves are counted, because a run that was taken back
/// to an earlier step goes on from there: the newest is not always of the highest step.
struct FileName {
  std::uint64_t number = 0;
  std::uint64_t step = 0;
  Slot slot = Slot::kRegular;
  friend bool operator==(const FileName&, const FileName&) = default;
};
std::string to_text(const FileName& name);
std::optional<FileName> parse_file_name(std::string_view text);
std::string_view to_text(Slot slot);

inline constexpr std::string_view kLatest = "LATEST";
inline constexpr std::string_view kLock = ".lock";
/// What a save that was killed has left: such a name with something behind it.
bool is_temporary(std::string_view name);

struct Keep {
  unsigned last = 3;
  std::uint64_t every = 0;
};
/// Those that make room once the one with the highest number is known to be whole. Never that one,
/// never the only one of a slot.
std::vector<FileName> no_longer_kept(const std::vector<FileName>& names, Keep keep);

}  // namespace berth::checkpoint
