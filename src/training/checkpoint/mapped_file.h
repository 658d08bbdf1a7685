// SPDX-License-Identifier: Apache-2.0
// Implementation of MappedFile of include/berth/safetensors.h. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "berth/safetensors.h"
#include "os/mapping.h"
#include "safetensors/header.h"

namespace berth::checkpoint {

struct TensorsInMemory {
  os::Mapping mapping;
  std::string_view json;  // Of the header.
  Metadata metadata;
  std::vector<Tensor> tensors;  // In the order of their bytes.
};

/// kCorrupt, naming the file and what is wrong with it.
Result<TensorsInMemory> map_tensors(const std::string& path);

class MappedFile::Impl {
 public:
  explicit Impl(TensorsInMemory content);
  const Tensor* find(const std::string& name) const noexcept;

  TensorsInMemory content;
  std::vector<const Tensor*> by_name;
};

}  // namespace berth::checkpoint
