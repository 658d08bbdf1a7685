// SPDX-License-Identifier: Apache-2.0
#include "deliver/address.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

// From the registries of special-purpose addresses that IANA keeps (RFC 6890), and of multicast.

namespace berth::deliver {
namespace {

constexpr std::size_t kStartMax = 12;  // Bytes of the longest prefix here, whole ones apart.

struct Range {
  std::array<std::uint8_t, kStartMax> start;
  unsigned bits;
  const char* kind;  // Null: public, whatever a later line says.
};

constexpr std::array kRanges4 = {
    Range{{0}, 8, "unspecified"},
    Range{{10}, 8, "private"},
    Range{{100, 64}, 10, "private"},  // Shared behind a carrier's translation.
    Range{{127}, 8, "loopback"},
    Range{{169, 254}, 16, "link-local"},
    Range{{172, 16}, 12, "private"},
    Range{{192, 0, 0}, 24, "reserved"},
    Range{{192, 0, 2}, 24, "documentation"},
    Range{{192, 88, 99}, 24, "reserved"},
    Range{{192, 168}, 16, "private"},
    Range{{198, 18}, 15, "private"},  // Of benchmarks.
    Range{{198, 51, 100}, 24, "documentation"},
    Range{{203, 0, 113}, 24, "documentation"},
    Range{{224}, 4, "multicast"},
    Range{{240}, 4, "reserved"},
};

// Public is what lies in 2000::/3 and in none of the lines before that one.
constexpr std::array kRanges6 = {
    Range{{0xff}, 8, "multicast"},
    Range{{0xfe, 0x80}, 10, "link-local"},
    Range{{0xfe, 0xc0}, 10, "private"},
    Range{{0xfc}, 7, "private"},
    Range{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, "IPv4-mapped"},
    Range{{0x20, 0x01}, 23, "reserved"},  // Tunnels, Teredo among them.
    Range{{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    Range{{0x20, 0x02}, 16, "reserved"},  // 6to4: an IPv4 address of any kind.
    Range{{0x3f, 0xff}, 20, "documentation"},
    Range{{0x20}, 3, nullptr},
    Range{{}, 0, "reserved"},
};

bool starts_with(std::span<const std::uint8_t> address, const Range& range) {
  for (unsigned bit = 0; bit < range.bits; ++bit) {
    const std::uint8_t mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    if (((address[bit / 8] ^ range.start.at(bit / 8)) & mask) != 0) return false;
  }
  return true;
}

std::string kind_among(std::span<const Range> ranges, std::span<const std::uint8_t> address) {
  const auto found =
      std::ranges::find_if(ranges, [&](const Range& range) { return starts_with(address, range); });
  return found == ranges.end() || found->kind == nullptr ? "" : found->kind;
}

}  // namespace

std::string special_kind(const in_addr& address) {
  std::array<std::uint8_t, sizeof address> bytes{};
  std::memcpy(bytes.data(), &address, bytes.size());
  return kind_among(kRanges4, bytes);
}

std::string special_kind(const in6_addr& address) {
  constexpr Range kTranslated = {{0, 0x64, 0xff, 0x9b}, 96, nullptr};
  constexpr in6_addr kLoopback = IN6ADDR_LOOPBACK_INIT;
  constexpr in6_addr kUnspecified = IN6ADDR_ANY_INIT;
  const std::span<const std::uint8_t> bytes(&address.s6_addr[0], sizeof address);
  if (std::memcmp(&address, &kLoopback, sizeof address) == 0) return "loopback";
  if (std::memcmp(&address, &kUnspecified, sizeof address) == 0) return "unspecified";
  if (starts_with(bytes, kTranslated)) {
    in_addr inside{};
    std::memcpy(&inside, bytes.last(sizeof inside).data(), sizeof inside);
    return special_kind(inside);
  }
  return kind_among(kRanges6, bytes);
}

}  // namespace berth::deliver
