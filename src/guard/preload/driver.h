// SPDX-License-Identifier: Apache-2.0
// The real driver: the libcuda.so.1 that the program has loaded, and the functions in it. It is
// found among the loaded libraries and never loaded by us; one that was loaded into another
// namespace of the dynamic linker is told of by libberth-audit.so. Any thread.
#pragma once

#include <cstddef>

#include "abi/cuda.h"
#include "guard/elf.h"

namespace berth::guard {

/// A function of hooks.def.
enum class Function : std::size_t {
#define HOOK(symbol) k_##symbol,
#define CALLED(symbol) k_##symbol,
#include "guard/preload/hooks.def"
  kCount
};

/// The function of the driver that this thread's call is for; null if that one has none. Where no
/// driver is loaded, that which the program would have without us.
void* real_address(Function function);
/// The next one of that name after ours, in the order of the loader; null if there is none.
void* function_after_ours(const char* symbol);

/// Calls a function of the driver; CUDA_ERROR_NOT_SUPPORTED where it has none of that name.
#define REAL(symbol, ...)                        \
  (real_address(Function::k_##symbol) == nullptr \
       ? CUDA_ERROR_NOT_SUPPORTED                \
       : reinterpret_cast<decltype(&(symbol))>(real_address(Function::k_##symbol))(__VA_ARGS__))

/// Whether the function of that name is one that we stand in front of.
bool is_hooked(const char* symbol);
/// What cuGetProcAddress calls it.
bool is_hooked_name(const char* name);

bool is_driver(const Object& object);
/// From now on this is the driver.
void bind(const Object& driver);
/// The driver that is loaded, bound; not found() if there is none.
Object loaded_driver();

bool is_ours(const void* address);
/// Ours, and only given out in place of what was found in another namespace.
bool is_for_another_namespace(const void* address);
/// What a program is given in place of an address in the driver that this thread's call is for: our
/// function for it, or itself.
void* in_place_of(void* address);
/// Asks that driver for the address of each of our functions, once: it may not be that of an
/// export.
void ask_for_addresses();

}  // namespace berth::guard
