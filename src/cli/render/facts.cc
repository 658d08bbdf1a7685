// SPDX-License-Identifier: Apache-2.0
#include "cli/render/facts.h"

#include <optional>
#include <utility>

namespace berth::cli {

void Facts::add(std::string_view name, std::string value) {
  if (!value.empty()) rows_.push_back({{std::string(name), Colour::kDim}, {std::move(value)}});
}

std::string Facts::text(Charset charset) && {
  Table table{.columns = {{}, {}}, .rows = std::move(rows_), .indent = 2, .header = false};
  return render(std::move(table), std::nullopt, charset);
}

}  // namespace berth::cli
