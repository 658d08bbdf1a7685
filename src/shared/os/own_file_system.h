// SPDX-License-Identifier: Apache-2.0
// Check that what is written in a directory takes room from others. Any thread.
#pragma once

#include <string>

namespace berth::os {

/// It is where a file system is mounted, which nothing beside it shares. Not so of one that is not
/// there.
bool has_own_file_system(const std::string& directory);

}  // namespace berth::os
