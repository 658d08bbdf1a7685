// SPDX-License-Identifier: Apache-2.0
#include "os/programs.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/errors.h"

namespace berth::os {

Result<std::string> sibling_program(const std::string& name) {
  std::array<char, 4'096> own{};
  const ssize_t length = ::readlink("/proc/self/exe", own.data(), own.size() - 1);
  if (length <= 0) return system_error("cannot read /proc/self/exe", errno);
  std::string path(own.data(), static_cast<std::size_t>(length));
  path = path.substr(0, path.rfind('/') + 1) + name;
  if (::access(path.c_str(), X_OK) == 0) return path;
  return Error{Errc::kNotFound, "there is no program " + path};
}

}  // namespace berth::os
