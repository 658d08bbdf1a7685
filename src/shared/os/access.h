// SPDX-License-Identifier: Apache-2.0
// Opens a file to one more user by its access control list. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace berth::os {

enum class Grant : std::uint8_t {
  kRead,
  kReadWrite,
  kPass,  // Of a directory: to list it, and to reach what is in it.
};

/// From now on its owner has all rights to the file, or the directory, `user` has these, and nobody
/// else has any. For the owner of the file, who needs no other right for it. A link is not
/// followed. kUnavailable where the file system keeps no such lists.
Status open_to_user(const std::string& path, UserId user, Grant grant);

}  // namespace berth::os
