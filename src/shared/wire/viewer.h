// SPDX-License-Identifier: Apache-2.0
// For whom an answer is written, and what users are called in it. Any thread.
#pragma once

#include <map>
#include <string>

#include "base/ids.h"

namespace berth::wire {

/// What users are called. One that is missing has no name here, and reads as null.
using UserNames = std::map<UserId, std::string>;

/// For whom an answer is written.
struct Viewer {
  UserId user;
  bool sees_all_commands = true;  // False: the command lines of others read as null,
  bool sees_all_handles = false;  // and so do their handles.
  const UserNames& names;
};

}  // namespace berth::wire
