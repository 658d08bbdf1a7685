// SPDX-License-Identifier: Apache-2.0
// Memory into which tensors are copied so that training can go on while they are written. It grows
// and never shrinks: a page that is touched for the first time costs more than its copy. One thread
// at a time.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "berth/checkpoint.h"
#include "checkpoint/tensor_file.h"

namespace berth::checkpoint {

class StagingMemory {
 public:
  explicit StagingMemory(const Staging& staging) : staging_(staging) {}
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;
  ~StagingMemory() { release(); }

  /// At least this much, all of it touched. What it held is gone where it grows.
  Status reserve(std::size_t bytes);
  /// Copies all pieces; from then on the plan points here.
  Status take(FilePlan& plan);

 private:
  void release();

  Staging staging_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace berth::checkpoint
