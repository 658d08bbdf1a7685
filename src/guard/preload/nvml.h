// SPDX-License-Identifier: Apache-2.0
// Answers of NVML about a device's memory, as programs get them: where the lease says so, the
// budget's card, as by CUDA; else what is there. By the NVML of the program's own namespace, and by
// one of another namespace of the dynamic linker, of which libberth-audit.so tells. Any thread.
#pragma once

#include "guard/elf.h"
#include "guard/side.h"

namespace berth::guard {

/// Whether the function of that name is one that we stand in front of.
bool is_hooked_of_nvml(const char* symbol);
bool is_nvml(const Object& object);
Object loaded_nvml();
/// Ours, and only given out in place of what was found in another namespace.
bool is_for_another_nvml(const void* address);
/// What a program is given in place of what it found in that library.
void* in_place_of_nvml(Side of, const Object& nvml, void* found);

}  // namespace berth::guard
