// SPDX-License-Identifier: Apache-2.0
// Lookup of functions of the driver's libraries, which no build is linked with. Any thread.
#pragma once

#include <dlfcn.h>

#include <cstring>

namespace berth::gpu {

/// False: the library has no function of that name, and `function` is null.
template <class Function>
bool find_function(void* library, const char* name, Function*& function) {
  void* const address = ::dlsym(library, name);
  std::memcpy(static_cast<void*>(&function), static_cast<const void*>(&address), sizeof address);
  return address != nullptr;
}

}  // namespace berth::gpu
