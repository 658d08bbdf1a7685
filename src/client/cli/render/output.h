// SPDX-License-Identifier: Apache-2.0
// Options for the form of the output of verbs that show things. All such verbs have the same ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/options.h"
#include "config/config.h"

namespace berth::cli {

using Format = config::Output;

struct OutputChoice {
  Format format = Format::kTable;
  bool format_given = false;        // By an option; else the settings decide.
  std::vector<std::string> fields;  // Empty: all.
  bool header = true;
  std::optional<Duration> watch;  // Show it again and again.

  /// Meant for people, who are told more than the bare items.
  bool is_for_people() const {
    return fields.empty() && (format == Format::kTable || format == Format::kWide);
  }
};

enum class Watching : std::uint8_t { kNo, kYes };

/// -o, --json, --csv, --fields, --no-header, -q, and --watch if the verb can.
void declare_output(Options& options, OutputChoice& choice, Watching watching);

}  // namespace berth::cli
