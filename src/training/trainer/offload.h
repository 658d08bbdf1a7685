// SPDX-License-Identifier: Apache-2.0
// Tensors of the host that libtorch's allocator knows nothing of, for what is wanted once a step at
// most and has to make room. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "trainer/libtorch.h"

namespace berth::trainer {

/// A copy of it, where `folder` is given in a file there that has no name: when the machine runs
/// short of memory, the system writes such pages out, where anonymous ones would stay. kFull: the
/// disk has no room; kExhausted: memory has none.
Result<at::Tensor> offloaded(const at::Tensor& tensor, const std::string& folder);

}  // namespace berth::trainer
