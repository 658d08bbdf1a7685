// SPDX-License-Identifier: Apache-2.0
// For the caller that comes to the driver past preloaded libraries: by a library that was loaded
// with RTLD_DEEPBIND, and so finds the driver before them; by a driver in a namespace of its own,
// where there are none; and by such a library in such a namespace. Or that has two drivers: the
// second in a namespace of its own, or the program's own after one there.
#include <dlfcn.h>

#include "linked.h"

namespace {

void* open_library(const std::string& route) {
  const char* calls = CALLS_LIBRARY;
  if (route == "deepbind") return ::dlopen(calls, RTLD_LAZY | RTLD_DEEPBIND);
  if (route == "deepbind_now") return ::dlopen(calls, RTLD_NOW | RTLD_DEEPBIND);
  if (route == "namespace") return ::dlmopen(LM_ID_NEWLM, calls, RTLD_NOW);
  constexpr const char* kDriver = "libcuda.so.1";
  if (route == "second" && ::dlopen(kDriver, RTLD_NOW) == nullptr) return nullptr;
  void* const other = ::dlmopen(LM_ID_NEWLM, kDriver, RTLD_NOW);
  if (route != "own_later" || other == nullptr) return other;
  return ::dlsym(other, "cuMemAlloc_v2") == nullptr ? nullptr : ::dlopen(kDriver, RTLD_NOW);
}

}  // namespace

Any linked_call(const std::string& route, const std::string& symbol) {
  static void* const kLibrary = open_library(route);
  if (kLibrary == nullptr) return nullptr;
  if (!route.starts_with("deepbind") && route != "namespace")
    return ::dlsym(kLibrary, symbol.c_str());
  const auto call = reinterpret_cast<Any (*)(const char*)>(::dlsym(kLibrary, "library_call"));
  return call == nullptr ? nullptr : call(symbol.c_str());
}
