// SPDX-License-Identifier: Apache-2.0
// Test of addresses of the Internet protocols: which are public. For a sender to a name that a name
// server of others answers for. Pure.
#pragma once

#include <netinet/in.h>

#include <string>

namespace berth::deliver {

/// What kind of address this is where it is not public: "loopback", "private", "multicast". Empty
/// where it is.
std::string special_kind(const in_addr& address);
/// An IPv4 address inside an IPv6 one counts as itself where a gateway of the network makes it so
/// (64:ff9b::/96); the other ways to write one are special.
std::string special_kind(const in6_addr& address);

}  // namespace berth::deliver
