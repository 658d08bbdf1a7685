// SPDX-License-Identifier: Apache-2.0
#include "train/generate_words.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "train/key_words.h"

namespace berth::train {
namespace {

constexpr double kTemperatureMax = 100;
constexpr std::uint32_t kTokensMax = 10'000'000;
constexpr std::uint32_t kThreadsMax = 1024;

struct GenerateKey {
  std::string_view name;
  std::string_view right;  // What its value is to be.
  std::string_view what;
  bool (*set)(GenerateWords& words, std::string_view value);
};

template <class Number>
bool read_number(std::string_view value, Number most, Number& place) {
  const auto number = parse_number<Number>(value);
  if (!number || !(*number >= 0) || !(*number <= most)) return false;
  place = *number;
  return true;
}

constexpr std::array<GenerateKey, 7> kKeys = {{
    {"prompt", "a text", "what the text begins with (a new line)",
     [](GenerateWords& words, std::string_view value) {
       words.prompt = value;
       return !value.empty();
     }},
    {"ranks", "a file", "of a model that reads tokens: the file of their ranks",
     [](GenerateWords& words, std::string_view value) {
       words.ranks = value;
       return !value.empty();
     }},
    {"tokens", "a whole number from 0 to 10000000", "how many are written after it (500)",
     [](GenerateWords& words, std::string_view value) {
       return read_number(value, kTokensMax, words.tokens);
     }},
    {"temperature", "a number from 0 to 100", "0: always the likeliest (1)",
     [](GenerateWords& words, std::string_view value) {
       return read_number(value, kTemperatureMax, words.sampling.temperature);
     }},
    {"top_k", "a whole number from 0 on", "of so many of the likeliest; 0: of all (0)",
     [](GenerateWords& words, std::string_view value) {
       return read_number(value, ~std::uint32_t{0}, words.sampling.top_k);
     }},
    {"seed", "a whole number from 0 on", "the same seed writes the same text (1)",
     [](GenerateWords& words, std::string_view value) {
       return read_number(value, ~std::uint64_t{0}, words.seed);
     }},
    {"threads", "a whole number from 0 to 1024", "0: as many as there are cores (0)",
     [](GenerateWords& words, std::string_view value) {
       return read_number(value, kThreadsMax, words.threads);
     }},
}};

Error not_so(std::string message) {
  return {Errc::kInvalid, std::move(message)};
}

Status set_key(GenerateWords& words, std::string_view name, std::string_view value) {
  const auto* key = std::ranges::find(kKeys, name, &GenerateKey::name);
  if (key == kKeys.end()) {
    std::vector<std::string_view> names;
    names.reserve(kKeys.size());
    for (const GenerateKey& known : kKeys) names.push_back(known.name);
    return unknown_key(name, names);
  }
  if (key->set(words, value)) return Unit{};
  return not_so(std::string(name) + ": '" + std::string(value) + "' is not " +
                std::string(key->right));
}

}  // namespace

Result<GenerateWords> parse_generate(const std::vector<std::string>& words) {
  TRY(split, split_key_words(words, {"--help", "-h"}));
  if (split.others.size() > 1) {
    return not_so("one folder of a run: '" + std::string(split.others.front()) + "'");
  }
  GenerateWords found;
  found.help = !split.flags.empty();
  if (!split.others.empty()) found.folder = split.others.front();
  for (const KeyAndValue& each : split.keys) TRY_STATUS(set_key(found, each.key, each.value));
  if (found.folder.empty() && !found.help) {
    return not_so("name the folder of the run (run.folder) whose model is to write");
  }
  return found;
}

std::string generate_help() {
  std::string text;
  for (const GenerateKey& key : kKeys) {
    text.append("  --").append(key.name).append("  ").append(key.what).append("\n");
  }
  return text;
}

}  // namespace berth::train
