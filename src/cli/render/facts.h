// SPDX-License-Identifier: Apache-2.0
// One fact a line, the values below one another. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/render/table.h"
#include "cli/render/text.h"

namespace berth::cli {

class Facts {
 public:
  /// A fact without a value is left out. The value must be harmless.
  void add(std::string_view name, std::string value);
  std::string text(Charset charset) &&;

 private:
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace berth::cli
