// SPDX-License-Identifier: Apache-2.0
// What programs are told by NVML of a device's memory: where the lease says so, the budget's card,
// as by CUDA; else what is there. Any thread.
#pragma once

#include "guard/elf.h"

namespace berth::guard {

/// Whether the function of that name is one that we stand in front of.
bool is_hooked_of_nvml(const char* symbol);
bool is_nvml(const Object& object);
Object loaded_nvml();
/// What a program is given in place of what it found under this name in that library.
void* in_place_of_nvml(const Object& nvml, const char* name, void* found);

}  // namespace berth::guard
