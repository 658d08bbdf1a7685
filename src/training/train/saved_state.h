// SPDX-License-Identifier: Apache-2.0
// State of a training run in a checkpoint beside its tensors, as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "train/state_text.h"

namespace berth::train {

struct SavedState {
  std::vector<std::pair<std::string, std::string>> settings;  // Keys and values.
  std::uint64_t position = 0;                                 // In the text that is learnt.
  std::uint64_t fingerprint = 0;                              // Of that text.
  StateText::Values values;                                   // Of the trainer.
};

std::string to_json(const SavedState& state);
/// kCorrupt, naming what is missing or of another kind.
Result<SavedState> parse_saved_state(std::string_view json);

}  // namespace berth::train
