// SPDX-License-Identifier: Apache-2.0
// Names of users and groups. Each call may ask a name service over the network and take long: the
// daemon asks at start and when a user is seen for the first time, never per request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace berth::os {

/// The uid that the calling process acts with.
UserId own_user();
/// "ana"; where the user has no name, the number.
std::string user_name(UserId user);
std::optional<UserId> find_user(const std::string& name);
/// The number of a group.
std::optional<std::uint32_t> find_group(const std::string& name);
/// Whether the group is the user's own or one of their further ones. False if there is no such
/// group.
bool is_in_group(UserId user, const std::string& group);
/// Of the user database; empty if it knows none.
std::string home_directory(UserId user);

}  // namespace berth::os
