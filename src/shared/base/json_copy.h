// SPDX-License-Identifier: Apache-2.0
// A part of a JSON text that was read, written again: what a client sent and gets back, or what is
// passed on. Numbers stay as they stand; blanks go. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_tree.h"
#include "base/json_writer.h"

namespace berth {

/// Writes the node there and all that is inside of it. The tree must have been read strictly.
void copy_json(const JsonTree& tree, std::uint32_t node, JsonWriter& to);
/// The same as a text of its own, in one line.
std::string json_at(const JsonTree& tree, std::uint32_t node);

}  // namespace berth
