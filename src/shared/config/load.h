// SPDX-License-Identifier: Apache-2.0
// From the text of files, variables and options to a Config, or to the list of all that is wrong
// with them. Reads no file and no environment: it is handed both. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.h"
#include "config/problem.h"

namespace berth::config {

inline constexpr std::size_t kFileMax = std::size_t{256} << 10U;  // Bytes of one file.
inline constexpr std::size_t kProblemsMax = 20;                   // Told at once.
inline constexpr std::size_t kUsersMax = 4'096;                   // With a table of their own.
inline constexpr std::size_t kTiersMax = 64;                      // Built-in ones included.
inline constexpr std::size_t kAlertsMax = 64;                     // Rules, built-in ones included.
inline constexpr std::size_t kAlertNameMax = 64;                  // Bytes.

struct File {
  enum class Kind : std::uint8_t { kMachine, kUser, kProject };
  Kind kind = Kind::kMachine;
  std::string path;
  std::string text;
};

/// A value from a variable or an option, for one key.
struct Override {
  Origin::Layer layer = Origin::Layer::kEnvironment;
  std::string key;    // "client.output"
  std::string text;   // As given: json
  std::string where;  // BERTH_FORMAT, --output
};

struct Input {
  Mode mode = Mode::kUser;
  std::vector<File> files;          // Lowest first.
  std::vector<Override> overrides;  // Lowest first, all above the files.
};

struct Loaded {
  Config config;
  Problems notes;  // Keys that a project may not set, passed over; and names that have changed.
};

/// All or nothing: with one problem no value is taken.
std::variant<Loaded, Problems> load(const Input& input);

/// Whether a rule may be called so: letters, digits, '-' and '_'.
bool is_alert_name(std::string_view name);

/// The overrides that these environment variables make: BERTH_LOG, BERTH_FORMAT,
/// BERTH_DEFAULT_VRAM, CLICOLOR_FORCE and NO_COLOR; empty ones count as not set. Other variables
/// are passed over.
std::vector<Override> overrides_of_environment(
    const std::map<std::string, std::string>& environment);

}  // namespace berth::config
