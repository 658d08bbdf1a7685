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
