// SPDX-License-Identifier: Apache-2.0
// A file to be read that need not fit into memory.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::trainer {

class MappedFile {
 public:
  /// kNotFound: it cannot be opened. kInvalid: it is no file, or there is nothing in it.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  /// Where it stays as long as this, or what this is moved to.
  std::string_view text() const { return text_; }

 private:
  explicit MappedFile(std::string_view text) : text_(text) {}

  std::string_view text_;
};

}  // namespace berth::trainer
