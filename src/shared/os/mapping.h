// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory for reading, unmapped when this dies. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::os {

class Mapping {
 public:
  /// kNotFound; kCorrupt where it is no file with anything in it.
  static Result<Mapping> open(const std::string& path);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  Mapping(const char* data, std::size_t size) : data_(data), size_(size) {}

  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace berth::os
