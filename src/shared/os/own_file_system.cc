// SPDX-License-Identifier: Apache-2.0
#include "os/own_file_system.h"

#include <sys/stat.h>

namespace berth::os {

bool has_own_file_system(const std::string& directory) {
  struct stat here{};
  struct stat above{};
  return ::stat(directory.c_str(), &here) == 0 && S_ISDIR(here.st_mode) &&
         ::stat((directory + "/..").c_str(), &above) == 0 && here.st_dev != above.st_dev;
}

}  // namespace berth::os
