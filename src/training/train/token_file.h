// SPDX-License-Identifier: Apache-2.0
// A text that is learnt, as tokens: the bytes of a plain file, or the file of tokens of two bytes
// that llm.c's scripts write (dev/data/data_common.py there: 256 numbers of four bytes, of which
// the first three are 20240520, 1 and how many tokens follow; all little-endian). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::train {

/// What a file holds; it must outlive this.
class TokenView {
 public:
  TokenView() = default;
  /// One that begins as a file of tokens is one. kCorrupt: it is of another version, or not as long
  /// as it says.
  static Result<TokenView> of_file(std::string_view bytes);

  std::size_t size() const { return data_.size() / width_; }
  std::int64_t operator[](std::size_t at) const {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::int64_t>(static_cast<unsigned char>(data_[i]));
    };
    return width_ == 1 ? byte(at) : byte(2 * at) | byte(2 * at + 1) << 8U;
  }
  TokenView part(std::size_t begin, std::size_t count) const {
    return {data_.substr(begin * width_, count * width_), width_};
  }
  bool is_bytes() const { return width_ == 1; }
  /// One more than the highest.
  std::int64_t vocabulary() const;

 private:
  TokenView(std::string_view data, std::size_t width) : data_(data), width_(width) {}

  std::string_view data_;
  std::size_t width_ = 1;
};

/// What stands before so many tokens.
std::string token_file_header(std::uint32_t count);

}  // namespace berth::train
