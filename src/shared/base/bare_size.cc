// SPDX-License-Identifier: Apache-2.0
#include "base/bare_size.h"

#include <cstdint>

#include "base/quantity.h"

namespace berth {
namespace {

constexpr std::uint64_t kGigabytesMax = 1024;
constexpr std::uint64_t kMegabytesMax = 1U << 24U;

}  // namespace

std::optional<std::string> meant_by_bare_size(std::string_view text) {
  const Result<Bytes> bytes = parse_bytes(text);
  const bool bare = text.find_first_not_of("0123456789. ") == std::string_view::npos;
  if (!bytes.ok() || *bytes == Bytes{} || !bare) return std::nullopt;
  const char* const unit = bytes->value < kGigabytesMax   ? "G"
                           : bytes->value < kMegabytesMax ? "M"
                                                          : "B";
  return std::string(text) + unit;
}

}  // namespace berth
