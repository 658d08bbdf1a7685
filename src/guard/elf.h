// SPDX-License-Identifier: Apache-2.0
// The libraries that are loaded in this process and the symbols that they define, read from memory.
// Nothing of libdl is used: this is how the guard finds what it stands in front of. Any thread; it
// takes the loader's own lock while it looks at the list.
#pragma once

#include <cstdint>

struct link_map;  // NOLINT(readability-identifier-naming): the loader's name.

namespace berth::guard {

struct Object {
  std::uintptr_t base = 0;  // What addresses in the file are relative to.
  std::uintptr_t low = 0;   // Where it lies.
  std::uintptr_t high = 0;
  const void* dynamic = nullptr;

  bool found() const { return dynamic != nullptr; }
  bool contains(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= low && at < high;
  }
};

/// Of any namespace. Where it lies is not known: it contains nothing.
Object object_of(const link_map& object);
/// The one that contains this address.
Object object_at(const void* address);
/// The first one whose own name (DT_SONAME) begins so.
Object object_named(const char* beginning);
bool is_named(const Object& object, const char* beginning);
/// The driver, or one of the libraries that come with it and look one another up.
bool is_of_the_driver(const Object& object);
/// Whether it asks for a library whose name begins so (DT_NEEDED).
bool needs(const Object& object, const char* beginning);

/// The function of that name which the object defines; null if it does not.
void* symbol_in(const Object& object, const char* name);
/// The function of that name in the first object loaded after the one with that dynamic section.
/// Works while a sanitizer that stands in front of the C library is not ready yet.
void* symbol_after(const void* dynamic, const char* name);

}  // namespace berth::guard
