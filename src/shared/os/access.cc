// SPDX-License-Identifier: Apache-2.0
#include "os/access.h"

#include <sys/xattr.h>

#include <array>
#include <bit>
#include <cerrno>

#include "os/errors.h"

namespace berth::os {
namespace {

// As the kernel has it (linux/posix_acl_xattr.h), little-endian like all machines that we run on.
static_assert(std::endian::native == std::endian::little);

struct Entry {
  std::uint16_t tag = 0;
  std::uint16_t rights = 0;
  std::uint32_t id = 0xffffffff;
};
struct AccessList {
  std::uint32_t version = 2;
  std::array<Entry, 5> entries;
};
static_assert(sizeof(Entry) == 8 && sizeof(AccessList) == 44);

constexpr std::uint16_t kOwner = 0x01;
constexpr std::uint16_t kUser = 0x02;
constexpr std::uint16_t kOwningGroup = 0x04;
constexpr std::uint16_t kMask = 0x10;
constexpr std::uint16_t kOthers = 0x20;

std::uint16_t rights_of(Grant grant) {
  switch (grant) {
    case Grant::kRead:
      return 4;
    case Grant::kReadWrite:
      return 6;
    case Grant::kPass:
      break;
  }
  return 5;
}

}  // namespace

Status open_to_user(const std::string& path, UserId user, Grant grant) {
  const std::uint16_t rights = rights_of(grant);
  const std::uint16_t all = grant == Grant::kPass ? 7 : 6;
  const AccessList list{.entries = {Entry{.tag = kOwner, .rights = all},
                                    {.tag = kUser, .rights = rights, .id = user.value},
                                    {.tag = kOwningGroup},
                                    {.tag = kMask, .rights = rights},
                                    {.tag = kOthers}}};
  if (::lsetxattr(path.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0)
    return Unit{};
  if (errno == EOPNOTSUPP) {
    return Error{Errc::kUnavailable, "the file system of " + path +
                                         " has no access control lists, by which it would "
                                         "be opened to user " +
                                         std::to_string(user.value) + " alone"};
  }
  return system_error("cannot open " + path + " to user " + std::to_string(user.value), errno);
}

}  // namespace berth::os
