// SPDX-License-Identifier: Apache-2.0
// Questions of libberth-audit.so to the guard, across namespaces of the dynamic linker: nothing but
// addresses passes between them.
#pragma once

struct link_map;  // NOLINT(readability-identifier-naming): the loader's name.

namespace berth::guard {

/// What a program is given in place of the address of a function of this library, the driver or
/// NVML, which was found for it: ours, or the same. Any thread, also with the dynamic linker's lock
/// held.
using StandIn = void*(const link_map* library, void* found);
constexpr const char* kStandIn = "berth_guard_stand_in";

}  // namespace berth::guard
