// SPDX-License-Identifier: Apache-2.0
// Writes tensors into a file so that it is there whole or not at all. Any thread; blocks on the
// disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "berth/safetensors.h"
#include "checkpoint/disk.h"
#include "safetensors/header.h"

namespace berth::checkpoint {

/// What a file is going to be. It points into the tensors' memory.
struct FilePlan {
  safetensors::Header header;
  std::vector<std::span<const std::byte>> pieces;  // One a tensor of the header.
};

/// kInvalid, naming the tensor, where one is not what it says, or two have one name.
Result<FilePlan> plan_file(const std::vector<Tensor>& tensors);

/// The new file, synced; it is taken away again where that fails.
Status write_new(Disk& disk, const std::string& path, const std::string& head,
                 const FilePlan& plan);
/// `from`, which was written new, becomes `to`, and stays so after a power cut.
Status put_in_place(Disk& disk, const std::string& from, const std::string& to);

/// A name beside `path` that nobody else uses.
std::string temporary_beside(const std::string& path);
std::string directory_of(const std::string& path);

}  // namespace berth::checkpoint
