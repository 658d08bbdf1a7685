// SPDX-License-Identifier: Apache-2.0
// The library of the caller that escapes preloading.
#include "library_calls.h"

#include <cstring>

/// Null if it is not linked with a function of that name.
extern "C" void* library_call(const char* symbol) {
  for (const LibraryCall* call = kLibraryCalls; call->name != nullptr; ++call) {
    if (std::strcmp(call->name, symbol) == 0) return reinterpret_cast<void*>(call->function);
  }
  return nullptr;
}
