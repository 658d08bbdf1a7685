// SPDX-License-Identifier: Apache-2.0
// Settings of a training run, "KEY=VALUE" a line: each is taken or refused with a sentence, and
// what was taken is told in such words that it can be set again.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "fuzz.h"
#include "train/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace train = berth::train;
  std::string_view text = berth::fuzz::text_of(data, size);
  train::Settings settings;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto set = train::set(settings, line.substr(0, equals), line.substr(equals + 1));
    CHECK(set.ok() || !set.error().message.empty());
  }
  const auto fits = train::check(settings);
  CHECK(fits.ok() || !fits.error().message.empty());
  train::Settings again;
  for (const train::KeyAndValue& each : train::values_of(settings)) {
    CHECK(train::set(again, each.key, each.value).ok());
  }
  const auto before = train::values_of(settings);
  const auto after = train::values_of(again);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(before[i].value == after[i].value);
  return 0;
}
