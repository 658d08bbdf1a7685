// SPDX-License-Identifier: Apache-2.0
// The driver's functions as a program has them that was linked with it.
#pragma once

#include <string>

/// A function of some type.
using Any = void*;

/// Null where it is not linked with one of that name.
Any linked_call(const std::string& symbol);

/// Whatever their parameters are. Ends with a name that is null. ../CMakeLists.txt makes it.
struct LinkedCall {
  const char* name;
  Any function;
};
extern const LinkedCall kLinkedCalls[];
