// SPDX-License-Identifier: Apache-2.0
// The table of `berth top`: leases, their processes where these are wanted, and processes without
// one; the page of it on which the chosen lease is. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/top/pieces.h"
#include "cli/top/tree.h"

namespace berth::cli::top {

class LeasePane {
 public:
  explicit LeasePane(const Drawing& drawing);

  /// With its head.
  std::size_t rows_wanted() const;
  void draw(const Area& area);

 private:
  std::size_t first_of(std::size_t page) const;
  void say_where(std::size_t first, std::size_t last, const Area& area) const;

  const Drawing& drawing_;
  std::vector<TreeLine> lines_;
};

}  // namespace berth::cli::top
