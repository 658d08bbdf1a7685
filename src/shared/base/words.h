// SPDX-License-Identifier: Apache-2.0
// The words of an enumeration, said once, right below it:
//
//   enum class Share : std::uint8_t { kBudget, kSlice };
//   constexpr auto words_of(Share) {
//     using enum Share;
//     return make_words<Share>({{kBudget, "budget"}, {kSlice, "slice"}});
//   }
//
// Output, JSON, the journal, the configuration and messages all use these. A value without a word,
// or in another place than its own, does not compile.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace berth {

template <class Enum>
struct Word {
  Enum value;
  std::string_view text;
  /// What it was called before: still read. The journal writes it, since its bytes stay.
  std::string_view former = {};
};

template <class Enum, std::size_t kCount>
consteval std::array<Word<Enum>, kCount> make_words(const Word<Enum> (&words)[kCount]) {
  for (std::size_t i = 0; i < kCount; ++i) {
    CHECK(static_cast<std::size_t>(words[i].value) == i);
    for (std::size_t j = 0; j < i; ++j) CHECK(words[i].text != words[j].text);
  }
  return std::to_array(words);
}

template <class Enum>
concept HasWords = requires(Enum value) { words_of(value); };

/// Whether the enumeration declares that value: compilers name it by that, and else by its number
/// behind a cast.
template <auto kValue>
consteval bool is_declared() {
  const std::string_view name = __PRETTY_FUNCTION__;
  constexpr std::string_view kBefore = "kValue = ";
  return name.at(name.find(kBefore) + kBefore.size()) != '(';
}

template <HasWords Enum>
inline constexpr auto kWordsOf = words_of(Enum{});

template <HasWords Enum>
constexpr const Word<Enum>& word_at(Enum value) {
  constexpr auto& kWords = kWordsOf<Enum>;
  static_assert(!is_declared<static_cast<Enum>(kWords.size())>(), "a value has no word");
  const auto index = static_cast<std::size_t>(value);
  CHECK(index < kWords.size());
  return kWords[index];
}

template <HasWords Enum>
constexpr std::string_view to_text(Enum value) {
  return word_at(value).text;
}

/// As the journal has it.
template <HasWords Enum>
constexpr std::string_view journal_word(Enum value) {
  const Word<Enum>& word = word_at(value);
  return word.former.empty() ? word.text : word.former;
}

/// Former words are read as well.
template <HasWords Enum>
constexpr std::optional<Enum> parse_word(std::string_view text) {
  for (const Word<Enum>& word : kWordsOf<Enum>) {
    if (word.text == text || (!word.former.empty() && word.former == text)) return word.value;
  }
  return std::nullopt;
}

template <HasWords Enum>
inline constexpr auto kTextsOf = [] {
  std::array<std::string_view, kWordsOf<Enum>.size()> texts;
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = kWordsOf<Enum>[i].text;
  return texts;
}();

template <HasWords Enum>
std::vector<std::string_view> texts_of() {
  return {kTextsOf<Enum>.begin(), kTextsOf<Enum>.end()};
}

/// For a message: `low, normal or high`, each within `quote`.
template <HasWords Enum>
std::string choices(std::string_view quote = {}) {
  const auto& texts = kTextsOf<Enum>;
  std::string list;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) list += i + 1 == texts.size() ? " or " : ", ";
    list.append(quote).append(texts[i]).append(quote);
  }
  return list;
}

}  // namespace berth
