// SPDX-License-Identifier: Apache-2.0
// Signatures of webhooks, by which a receiver knows that one is ours, whole, and not an old one
// sent again. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::deliver {

struct Signed {
  std::string_view id;
  std::int64_t time = 0;  // Seconds since 1970.
  std::string_view body;
};

/// HMAC-SHA256 of "ID.TIME.BODY", in small hexadecimal digits. An id has no dot.
std::string sign(std::string_view secret, const Signed& what);

}  // namespace berth::deliver
