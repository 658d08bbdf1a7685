// SPDX-License-Identifier: Apache-2.0
#include "os/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace berth::os {
namespace {

constexpr std::size_t kEntryMax = std::size_t{1} << 20U;  // A group may have many members.
constexpr int kGroupsMax = 65'536;                        // NGROUPS_MAX of Linux.

struct User {
  UserId id;
  gid_t group = 0;
  std::string name;
  std::string home;
};

// Calls one of the getXXX_r functions with a buffer that grows until the entry fits.
template <class Entry, class Call>
bool look_up(Entry& entry, std::vector<char>& buffer, const Call& call) {
  for (buffer.resize(1'024); buffer.size() <= kEntryMax; buffer.resize(buffer.size() * 2)) {
    Entry* found = nullptr;
    const int error = call(&entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE) continue;
    return error == 0 && found != nullptr;
  }
  return false;
}

template <class Call>
std::optional<User> look_up_user(const Call& call) {
  passwd entry{};
  std::vector<char> buffer;
  if (!look_up(entry, buffer, call)) return std::nullopt;
  return User{{entry.pw_uid}, entry.pw_gid, entry.pw_name, entry.pw_dir};
}

std::optional<User> user_of(UserId user) {
  return look_up_user([user](passwd* entry, char* buffer, std::size_t size, passwd** found) {
    return ::getpwuid_r(user.value, entry, buffer, size, found);
  });
}

std::optional<gid_t> group_of(const std::string& name) {
  group entry{};
  std::vector<char> buffer;
  const bool found =
      look_up(entry, buffer, [&name](group* to, char* bytes, std::size_t size, group** result) {
        return ::getgrnam_r(name.c_str(), to, bytes, size, result);
      });
  return found ? std::optional(entry.gr_gid) : std::nullopt;
}

}  // namespace

UserId own_user() {
  return {::geteuid()};
}

std::string user_name(UserId user) {
  const std::optional<User> found = user_of(user);
  return found ? found->name : std::to_string(user.value);
}

std::optional<UserId> find_user(const std::string& name) {
  const std::optional<User> found =
      look_up_user([&name](passwd* entry, char* buffer, std::size_t size, passwd** result) {
        return ::getpwnam_r(name.c_str(), entry, buffer, size, result);
      });
  return found ? std::optional(found->id) : std::nullopt;
}

std::optional<std::uint32_t> find_group(const std::string& name) {
  return group_of(name);
}

bool is_in_group(UserId user, const std::string& group) {
  const std::optional<User> member = user_of(user);
  const std::optional<gid_t> wanted = group_of(group);
  if (!member || !wanted) return false;
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(member->name.c_str(), member->group, groups.data(), &count) < 0) {
    // `count` now says how many there are.
    if (count > kGroupsMax || static_cast<std::size_t>(count) <= groups.size()) return false;
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return std::ranges::find(groups, *wanted) != groups.end();
}

std::string home_directory(UserId user) {
  const std::optional<User> found = user_of(user);
  return found ? found->home : std::string();
}

}  // namespace berth::os
