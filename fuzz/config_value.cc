// SPDX-License-Identifier: Apache-2.0
// Values as variables and options give them, "KEY=VALUE": each is taken, or refused with a sentence
// that names where it came from.
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "config/load.h"
#include "config/problem.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace config = berth::config;
  const std::string_view text = berth::fuzz::text_of(data, size);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return 0;
  const auto result = config::load({.overrides = {{.layer = config::Origin::Layer::kFlag,
                                                   .key = std::string(text.substr(0, equals)),
                                                   .text = std::string(text.substr(equals + 1)),
                                                   .where = "--set"}}});
  if (const auto* problems = std::get_if<config::Problems>(&result)) {
    CHECK(problems->size() == 1 && problems->front().where == "--set");
    CHECK(!problems->front().message.empty());
  } else {
    CHECK(!std::get<config::Loaded>(result).config.origins.empty());
  }
  return 0;
}
