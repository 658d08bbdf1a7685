// SPDX-License-Identifier: Apache-2.0
// The driver's functions by the ways that only some of the callers have: each is linked with one
// file that defines this.
#pragma once

#include <string>

/// A function of some type.
using Any = void*;

/// Null where it has no such way, or by it no function of that name.
Any linked_call(const std::string& route, const std::string& symbol);
