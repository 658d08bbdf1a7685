// SPDX-License-Identifier: Apache-2.0
#include "os/errors.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace berth::os {
namespace {

Errc code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return Errc::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::kPermission;
    case ENOSPC:
    case EDQUOT:
      return Errc::kFull;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Errc::kExhausted;
    case EWOULDBLOCK:
    case EEXIST:
    case EADDRINUSE:
      return Errc::kConflict;
    case ETIMEDOUT:
      return Errc::kTimedOut;
    case ECONNREFUSED:
    case ENOSYS:
      return Errc::kUnavailable;
    case EINVAL:
    case ENAMETOOLONG:
      return Errc::kInvalid;
    default:
      return Errc::kIo;
  }
}

}  // namespace

Error system_error(const std::string& cannot_what, int number) {
  std::array<char, 128> buffer{};
  return {code_of(number), cannot_what + ": " + ::strerror_r(number, buffer.data(), buffer.size())};
}

}  // namespace berth::os
