// SPDX-License-Identifier: Apache-2.0
// A directory for targets that read files: in memory where it can be, since each input writes some.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace berth::fuzz {

/// One for the life of the process, empty at first.
inline const std::string& scratch_directory() {
  static const std::string kMade = [] {
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm/berth-fuzz-XXXXXX"
                                                           : "/tmp/berth-fuzz-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    return name;
  }();
  return kMade;
}

}  // namespace berth::fuzz
