// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/number.h"

namespace berth {
namespace {

constexpr std::string_view kBase32 = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kHandleLetters = 26;  // 130 bits: the last letter carries three.
constexpr std::array<std::size_t, 4> kDashes = {8, 13, 18, 23};
constexpr std::size_t kUuidLength = 36;

}  // namespace

std::string to_text(LeaseId id) {
  return std::to_string(id.value);
}

std::string to_text(Handle handle) {
  std::string text = "l_";
  for (std::size_t i = 0; i < kHandleLetters; ++i) {
    const std::size_t bit = i * 5;  // Counted from the highest of 130; the two lowest are 0.
    std::uint64_t five = 0;
    for (std::size_t b = bit; b < bit + 5; ++b) {
      std::uint64_t value = 0;
      if (b < 64) {
        value = handle.high >> (63 - b) & 1U;
      } else if (b < 128) {
        value = handle.low >> (127 - b) & 1U;
      }
      five = five << 1U | value;
    }
    text += kBase32[five];
  }
  return text;
}

std::optional<Handle> parse_handle(std::string_view text) {
  if (text.size() != kHandleLetters + 2 || text.substr(0, 2) != "l_") return std::nullopt;
  Handle handle;
  for (std::size_t i = 0; i < kHandleLetters; ++i) {
    const std::size_t five = kBase32.find(text[i + 2]);
    if (five == std::string_view::npos) return std::nullopt;
    for (std::size_t b = 0; b < 5; ++b) {
      const std::uint64_t value = five >> (4 - b) & 1U;
      const std::size_t at = i * 5 + b;
      if (at < 64) {
        handle.high |= value << (63 - at);
      } else if (at < 128) {
        handle.low |= value << (127 - at);
      } else if (value != 0) {
        return std::nullopt;
      }
    }
  }
  return handle;
}

std::string to_text(DeviceId device) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = device.mig ? "MIG-" : "GPU-";
  for (std::size_t digit = 0; digit < 32; ++digit) {
    const std::uint64_t half = digit < 16 ? device.high : device.low;
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text += '-';
    text += kHex[half >> (60 - digit % 16 * 4) & 15U];
  }
  return text;
}

std::optional<DeviceId> parse_device_id(std::string_view text) {
  DeviceId device;
  if (text.substr(0, 4) == "MIG-") {
    device.mig = true;
  } else if (text.substr(0, 4) != "GPU-") {
    return std::nullopt;
  }
  text.remove_prefix(4);
  if (text.size() != kUuidLength) return std::nullopt;
  std::size_t digit = 0;
  for (std::size_t i = 0; i < kUuidLength; ++i) {
    if (std::ranges::find(kDashes, i) != kDashes.end()) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text.substr(i, 1), 16);
    if (!value) return std::nullopt;
    std::uint64_t& half = digit < 16 ? device.high : device.low;
    half = half << 4U | *value;
    ++digit;
  }
  return device;
}

std::array<std::uint8_t, 16> uuid_bytes(DeviceId device) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    const auto shift = static_cast<unsigned>(56 - 8 * i);
    bytes.at(i) = static_cast<std::uint8_t>(device.high >> shift);
    bytes.at(8 + i) = static_cast<std::uint8_t>(device.low >> shift);
  }
  return bytes;
}

}  // namespace berth
