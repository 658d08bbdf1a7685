// SPDX-License-Identifier: Apache-2.0
// For targets whose input says what to do, step by step: takes it apart from the front. Where
// nothing is left there are zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace berth::fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size)
      : left_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return left_.empty(); }
  template <class Number>
  Number number() {
    Number value = 0;
    const std::string_view taken = text(sizeof value);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  std::string_view text(std::size_t size_max) {
    const std::string_view taken = left_.substr(0, size_max);
    left_.remove_prefix(taken.size());
    return taken;
  }

  /// Writes over `memory` what the rest says: where (as a share of its size), how many eight bytes
  /// and which. It knows nothing of what lies there.
  void scribble(char* memory, std::size_t size, std::size_t times) {
    for (; times > 0 && !empty() && size >= 8; --times) {
      const auto at = static_cast<std::size_t>(number<std::uint32_t>() % size) & ~std::size_t{7};
      const auto kind = number<std::uint8_t>();
      // All bits, none, what a figure may be, or anything.
      const std::uint64_t value = kind % 4 == 0   ? ~std::uint64_t{0}
                                  : kind % 4 == 1 ? std::uint64_t{0}
                                  : kind % 4 == 2 ? std::uint64_t{number<std::uint16_t>()} << 20U
                                                  : number<std::uint64_t>();
      std::memcpy(memory + at, &value, std::min<std::size_t>(8, size - at));
    }
  }

 private:
  std::string_view left_;
};

}  // namespace berth::fuzz
