// SPDX-License-Identifier: Apache-2.0
// The function that a fuzz target defines. It is called with one input after another, and a CHECK
// of it fails where it finds something wrong; the sanitizers report by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace berth::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// What is accepted and written is accepted again, and from then on nothing changes any more.
template <class Decode, class Encode>
void check_trip(std::string_view text, Decode decode, Encode encode) {
  const auto first = decode(text);
  if (!first.ok()) {
    CHECK(!first.error().message.empty());
    return;
  }
  const auto second = decode(encode(*first));
  CHECK(second.ok());
  const std::string written = encode(*second);
  const auto third = decode(written);
  CHECK(third.ok());
  CHECK(encode(*third) == written);
}

}  // namespace berth::fuzz
