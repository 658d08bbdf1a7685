// SPDX-License-Identifier: Apache-2.0
// Starts other programs, without a shell. Any thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace berth::os {

/// What a program that is started is apart from its starter in.
enum class Apart : std::uint8_t {
  kGroup,    // What a terminal sends to us passes it by.
  kSession,  // It has no terminal, and kill(-pid) reaches all of it that wants to be reached.
};

struct SpawnPlan {
  std::vector<std::string> words;                     // The first is its path, or a name in PATH.
  std::map<std::string, std::string> variables = {};  // Beside ours, or instead of them.
  std::array<int, 3> standard = {0, 1, 2};  // What of ours becomes these: itself, or one above 2.
  Apart apart = Apart::kGroup;
};

/// All descriptors but the standard ones are closed in it. Signals are as in a new program. The
/// process that started it reaps it.
Result<pid_t> spawn(const SpawnPlan& plan);

/// As exec takes them: valid as long as the texts are, and end with a null.
std::vector<char*> pointers_to(std::vector<std::string>& texts);
/// None blocked, none ignored, as in a new program. Between fork and exec: system calls alone.
void reset_signals();

struct ChildPlan {
  std::string program;                 // Its path.
  std::vector<std::string> arguments;  // After its name.
  std::string library_path;            // LD_LIBRARY_PATH for it; empty: as it is.
};

struct Child {
  pid_t pid = 0;
  UniqueFd socket;  // Its standard input and output; does not block.
};

/// One of our own helper programs, which talks over a socket, in a group of its own.
Result<Child> start_child(const ChildPlan& plan);

}  // namespace berth::os
