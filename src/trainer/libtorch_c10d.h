// SPDX-License-Identifier: Apache-2.0
// libtorch's processes that work together, for peers.cc alone: these headers are large.
#pragma once

#include "trainer/libtorch.h"

#pragma push_macro("CHECK")
#undef CHECK
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#undef CHECK
#pragma pop_macro("CHECK")

namespace berth::trainer {

/// libtorch 2 would have libuv serve the store, which not every build of it has. Where no store is
/// served at all, it looks for one somewhat longer than twice the timeout, libtorch 1 just as long.
inline c10d::TCPStoreOptions store_options() {
  c10d::TCPStoreOptions options;
#if TORCH_VERSION_MAJOR >= 2
  options.useLibUV = false;
#endif
  return options;
}

}  // namespace berth::trainer
