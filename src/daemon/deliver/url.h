// SPDX-License-Identifier: Apache-2.0
// The address of a webhook, looked at by the library that will connect to it: what it takes for the
// host is what we take for it. Pure.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::deliver {

struct HookUrl {
  std::string host;        // For messages: of an address the rest may be a secret.
  bool encrypted = false;  // https
};

/// kInvalid, saying what is wrong without repeating the address. Without TLS only where private
/// addresses are allowed: those are all that it may then go to.
Result<HookUrl> check_url(const std::string& url, bool allow_private);

}  // namespace berth::deliver
