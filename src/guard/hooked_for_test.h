// SPDX-License-Identifier: Apache-2.0
// The functions of the driver that the guard stands in front of, for tests of what it finds.
#pragma once

#include "abi/cuda_names.h"

namespace berth::guard {

struct Hooked {
  const char* symbol;
  const char* name;  // That cuGetProcAddress is asked for,
  int since;         // and the CUDA version since which it means this one.
};
inline constexpr Hooked kHooked[] = {
#define HOOK(symbol) {#symbol, symbol##_name.name, symbol##_name.since},
#include "guard/preload/hooks.def"
};

}  // namespace berth::guard
