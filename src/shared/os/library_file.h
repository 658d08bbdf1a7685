// SPDX-License-Identifier: Apache-2.0
// Symbols of a shared library, as far as they decide which library answers in a program into which
// it is loaded first. Any thread; blocks on the disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::os {

/// Whether a shared library of this machine's word size defines a symbol for others. Pure: `file`
/// is what lies in it, and may be anything.
bool defines_symbol(std::string_view file, std::string_view symbol);

/// The file that the dynamic linker would take for an entry of LD_PRELOAD, as far as that can be
/// known: a path, in which $LIB is the system's library folders, or a name in LD_LIBRARY_PATH
/// (`search`) and in those folders. Nothing: there is none.
std::optional<std::string> find_preloaded(const std::string& entry, std::string_view search);

}  // namespace berth::os
