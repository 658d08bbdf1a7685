// SPDX-License-Identifier: Apache-2.0
// The types of values: how each is read from what was given, named in words and written back as
// TOML. Within config only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/document.h"
#include "config/keys.h"

namespace berth::config {

/// Reads what was given for a key into its place. The error names what was given and what would be
/// right, not the key.
Status read(const Key& key, const Given& given, Slot slot);

/// What a key takes: "a size such as \"8GiB\"", "fifo, priority or fair".
std::string in_words(const Key& key);
/// As TOML; absent if it has no value.
std::optional<std::string> as_toml(Slot slot);
/// The words of an enumeration; empty for all other types.
std::vector<std::string_view> choices_of(const Key& key);

/// In quotes, as TOML wants it.
std::string toml_text(std::string_view text);
/// A key as it stands before '=': in quotes where it must be.
std::string toml_key(std::string_view name);

/// A place for a key that belongs to no configuration, to learn its type and default.
Slot slot_of(const Key& key, Config& config);

}  // namespace berth::config
