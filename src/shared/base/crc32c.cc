// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace berth {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Its bits in reverse, as the register has them.

using Table = std::array<std::uint32_t, 256>;

// Multiplies polynomials modulo the one above; bit 31 is the coefficient of x^0.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) product ^= b;
    b = (b & 1U) != 0 ? b >> 1U ^ kPolynomial : b >> 1U;
  }
  return product;
}

constexpr std::uint32_t power_of_x(std::uint64_t exponent) {
  std::uint32_t result = 1U << 31U;
  std::uint32_t square = 1U << 30U;  // x, x^2, x^4, …
  for (; exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

constexpr Table table_of_bytes() {
  Table table{};
  const std::uint32_t byte_further = power_of_x(8);
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = multiply(byte_further, byte);
  }
  return table;
}
constexpr Table kBytes = table_of_bytes();

std::uint32_t add_byte(std::uint32_t crc, std::byte byte) {
  return kBytes[(crc ^ static_cast<std::uint32_t>(byte)) & 0xFFU] ^ crc >> 8U;
}

#if defined(__x86_64__)

// The instruction takes three cycles and another can begin in each: three lanes are computed side
// by side and joined. A lane of zeros changes a register by a multiplication, which is linear:
// one table for each byte of the register.
constexpr std::size_t kLane = 4'096;

constexpr std::array<Table, 4> tables_of_a_lane() {
  std::array<Table, 4> tables{};
  const std::uint32_t lane_further = power_of_x(8 * kLane);
  for (unsigned place = 0; place < tables.size(); ++place) {
    // All others follow from the eight of one bit each.
    for (std::uint32_t byte = 1; byte < 256; ++byte) {
      const std::uint32_t low = byte & (~byte + 1U);
      tables[place][byte] = low == byte ? multiply(lane_further, byte << 8U * place)
                                        : tables[place][low] ^ tables[place][byte ^ low];
    }
  }
  return tables;
}
constexpr std::array<Table, 4> kLaneFurther = tables_of_a_lane();

std::uint32_t behind_a_lane(std::uint32_t crc) {
  return kLaneFurther[0][crc & 0xFFU] ^ kLaneFurther[1][crc >> 8U & 0xFFU] ^
         kLaneFurther[2][crc >> 16U & 0xFFU] ^ kLaneFurther[3][crc >> 24U];
}

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t add_by_instruction(std::span<const std::byte> bytes,
                                                                   std::uint32_t crc) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * kLane; at += 3 * kLane, left -= 3 * kLane) {
    std::uint64_t first = crc;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      first = __builtin_ia32_crc32di(first, word_at(at + i));
      second = __builtin_ia32_crc32di(second, word_at(at + kLane + i));
      third = __builtin_ia32_crc32di(third, word_at(at + 2 * kLane + i));
    }
    crc = behind_a_lane(static_cast<std::uint32_t>(first)) ^ static_cast<std::uint32_t>(second);
    crc = behind_a_lane(crc) ^ static_cast<std::uint32_t>(third);
  }
  std::uint64_t wide = crc;
  for (; left >= 8; at += 8, left -= 8) wide = __builtin_ia32_crc32di(wide, word_at(at));
  crc = static_cast<std::uint32_t>(wide);
  for (; left > 0; ++at, --left) crc = add_byte(crc, *at);
  return crc;
}

// Asked here, because __builtin_cpu_supports() brings a constructor into every library.
bool has_instruction() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0;
}

#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (const std::byte byte : bytes) crc = add_byte(crc, byte);
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool kHasInstruction = has_instruction();
  if (kHasInstruction) return ~add_by_instruction(bytes, ~before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace berth
