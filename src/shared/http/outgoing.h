// SPDX-License-Identifier: Apache-2.0
// Bytes that are still to be written to one connection. A reader that takes them piece by piece and
// is never done costs no more than what it has not taken. Pure; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace berth::http {

class Outgoing {
 public:
  void put(std::string text) {
    if (text_.empty()) {
      text_ = std::move(text);
    } else {
      text_ += text;
    }
  }
  std::string_view left() const { return std::string_view(text_).substr(done_); }
  std::size_t size() const { return text_.size() - done_; }
  /// What it costs in memory.
  std::size_t capacity() const { return text_.capacity(); }

  /// So many bytes are written; returns how many bytes of memory came free.
  std::size_t took(std::size_t bytes) {
    CHECK(bytes <= size());
    done_ += bytes;
    if (done_ == text_.size()) return clear();
    if (done_ < text_.size() / 2) return 0;
    text_.erase(0, done_);
    done_ = 0;
    return 0;
  }
  std::size_t clear() {
    const std::size_t freed = text_.capacity();
    std::string().swap(text_);
    done_ = 0;
    return freed;
  }

 private:
  std::string text_;
  std::size_t done_ = 0;  // Of it.
};

}  // namespace berth::http
