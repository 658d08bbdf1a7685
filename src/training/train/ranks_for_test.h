// SPDX-License-Identifier: Apache-2.0
// Files of ranks. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::train {

inline std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const unsigned char byte =
          i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
      bits = (bits << 8U) | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool is_there = i + k <= bytes.size();
      text += is_there ? kLetters[(bits >> (18 - 6 * k)) & 63U] : '=';
    }
  }
  return text;
}

/// The bytes, and then these.
inline std::string ranks_text(const std::vector<std::string>& joined) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    const char one = static_cast<char>(byte);
    text += base64({&one, 1}) + " " + std::to_string(byte) + "\n";
  }
  for (std::size_t i = 0; i < joined.size(); ++i) {
    text += base64(joined[i]) + " " + std::to_string(256 + i) + "\n";
  }
  return text;
}

}  // namespace berth::train
