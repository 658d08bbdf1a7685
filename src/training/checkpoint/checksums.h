// SPDX-License-Identifier: Apache-2.0
// Checkpoint metadata of a safetensors file: the step, the slot, the state, and CRC-32C sums of the
// header and of each tensor, so that what was damaged is known for it. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "berth/checkpoint.h"
#include "checkpoint/tensor_file.h"

namespace berth::checkpoint {

/// What stands in the metadata beside the sums.
struct CheckpointInfo {
  std::uint64_t step = 0;
  Slot slot = Slot::kRegular;
  std::string state;
};

/// The head of the file with all sums in it. kInvalid where the state is no JSON.
Result<std::string> head_with_checksums(FilePlan& plan, const CheckpointInfo& about);

/// What a file says about itself once each of its sums was found right: kCorrupt, saying which is
/// not. `json` is that of the header, `tensors` in the order of their bytes.
Result<CheckpointInfo> check_checksums(std::string_view json, const Metadata& metadata,
                                       std::span<const Tensor> tensors);

}  // namespace berth::checkpoint
