// SPDX-License-Identifier: Apache-2.0
// Socket of a server on a TCP port of this machine, and a secret in a file that only its owner can
// read. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "os/unique_fd.h"

namespace berth::http {

/// How long a client of a port may ask nothing before its connection ends: all users of the machine
/// can connect, and have the same connections between them.
inline constexpr Duration kPortIdleFor = seconds(75);

struct LoopbackSocket {
  os::UniqueFd socket;  // Accepts already.
  std::uint16_t port = 0;
};
/// On 127.0.0.1. Port 0: one that is free. kUnavailable: another program has it.
Result<LoopbackSocket> listen_on_loopback(std::uint16_t port);

/// One that nobody can guess: 256 bits, as letters and digits.
std::string new_secret();
/// The secret in that file, which is made with mode 0600 where it is not there. kInvalid: the file
/// holds something else; kPermission: it is another user's, or open to others.
Result<std::string> secret_in(const std::string& path);

}  // namespace berth::http
