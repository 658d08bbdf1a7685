// SPDX-License-Identifier: Apache-2.0
// Output for programs: the JSON that the daemon sent, whole or by fields, as JSON, lines of JSON,
// CSV, TSV, ids or a bare table. Field names are those of the JSON in all of them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/render/output.h"
#include "cli/render/text.h"

namespace berth::cli {

struct ItemSource {
  std::string_view json = {};  // An object.
  /// Further ones of that form, each with the items that come before those of the one before it.
  std::span<const std::string> older = {};
  std::string_view items = {};  // The name of the array in it; empty: the object is the one item.
  /// JSON of the same form with one item: its fields are those there are. Empty: as `json`.
  std::string_view sample = {};
  std::optional<std::set<std::uint64_t>> only = {};  // Items whose "id" is among these.
  std::optional<bool> simulated = {};                // Said in JSON, where it does not say so.
  bool on_terminal = false;  // JSON is indented, and nothing in any form steers the terminal.
};

/// kInvalid: a field that there is not, with the nearest one. kCorrupt: `json` is none.
Result<std::string> render_items(const ItemSource& source, const OutputChoice& choice,
                                 Charset charset);

}  // namespace berth::cli
