// SPDX-License-Identifier: Apache-2.0
// Configuration files as people write them: each text is a Config that reads the same when it is
// shown and read again, or a list of problems that name place and wrong. The first byte of the
// input says whose file it is.
#include <string>
#include <variant>

#include "base/check.h"
#include "config/load.h"
#include "config/print.h"
#include "config/problem.h"
#include "fuzz.h"

namespace {

namespace config = berth::config;

std::string as_file(const config::Config& config) {
  std::string text;
  for (const config::ShownValue& value : config::shown_values(config)) {
    const bool of_project = value.key.starts_with("request.");
    if (!of_project && !value.value.empty()) text += value.key + " = " + value.value + "\n";
  }
  return text;
}

void check_problems(const config::Problems& problems) {
  CHECK(!problems.empty() && problems.size() <= config::kProblemsMax);
  for (const config::Problem& problem : problems) {
    CHECK(!problem.message.empty() && problem.line > 0 && problem.column > 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  config::Input input;
  input.mode = (*data & 1U) != 0 ? config::Mode::kSystem : config::Mode::kUser;
  config::File file;
  file.kind = static_cast<config::File::Kind>(*data / 2U % 3U);
  file.path = "berth.toml";
  file.text = std::string(berth::fuzz::text_of(data + 1, size - 1));
  input.files = {file};
  const auto result = config::load(input);
  if (const auto* problems = std::get_if<config::Problems>(&result)) {
    check_problems(*problems);
    return 0;
  }
  const std::string shown = as_file(std::get<config::Loaded>(result).config);
  const auto again =
      config::load({.mode = input.mode, .files = {{.path = "again", .text = shown}}});
  CHECK(std::holds_alternative<config::Loaded>(again));
  CHECK(as_file(std::get<config::Loaded>(again).config) == shown);
  return 0;
}
