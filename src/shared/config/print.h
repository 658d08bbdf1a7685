// SPDX-License-Identifier: Apache-2.0
// A configuration for people and their tools: each value with its origin, a commented file of the
// defaults, the table of the documentation, the JSON schema for editors. Any thread.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace berth::config {

struct ShownValue {
  std::string key;    // "policy.order"
  std::string value;  // As TOML; "" where it has none.
  Origin origin;
};
/// Every value of the configuration, `berth config show`. Values of single users and GPUs where
/// they are set.
std::vector<ShownValue> shown_values(const Config& config);

/// A file that says what would hold without it, every value commented out: `berth config default`.
std::string default_file(Mode mode);

/// The keys as tables of Markdown, one a section.
std::string markdown_tables();

/// A JSON schema (2020-12) of berth.toml, for editors.
std::string json_schema();

/// The keys of a rule that are not at their defaults, a line each.
std::string keys_of(const AlertRule& rule);

}  // namespace berth::config
