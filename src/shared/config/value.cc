// SPDX-License-Identifier: Apache-2.0
#include "config/value.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

#include "base/bare_size.h"
#include "base/letters.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/quantity.h"
#include "core/limits.h"

namespace berth::config {
namespace {

using Labels = std::map<std::string, std::string>;

bool is_line(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

std::string range_text(const Key& key) {
  return "from " + std::to_string(key.min) + " to " + std::to_string(key.max);
}

// What a type is called.
struct InWords {
  const Key& key;
  std::string operator()(bool*) const { return "true or false"; }
  std::string operator()(std::uint32_t*) const { return "a number " + range_text(key); }
  std::string operator()(Percent) const {
    return "a share such as \"62%\", " + range_text(key) + " percent";
  }
  std::string operator()(Bytes*) const { return "a size such as \"8GiB\""; }
  std::string operator()(Duration*) const { return "a duration such as \"90s\" or \"2h30m\""; }
  std::string operator()(std::string*) const {
    if (key.text == Key::Text::kUrl) return "a URL that begins with https:// or http://, or \"\"";
    return key.text == Key::Text::kAbsolutePath ? "an absolute path, or \"\"" : "text";
  }
  std::string operator()(std::vector<std::string>*) const { return "a list of text"; }
  std::string operator()(Ladder*) const {
    return "a list of measures such as [\"notify\", \"checkpoint@30s\"]";
  }
  std::string operator()(alerts::Expression*) const {
    return "an expression such as \"gpu.mem_used > 88% for 30s\"";
  }
  std::string operator()(Labels*) const { return "a table of text"; }
  std::string operator()(DefaultVram*) const {
    return "\"exclusive\", \"ask\", \"learned\" or a size such as \"8GiB\"";
  }
  template <HasWords E>
  std::string operator()(E*) const {
    return choices<E>("\"");
  }
  template <class T>
  std::string operator()(std::optional<T>*) const {
    return (*this)(static_cast<T*>(nullptr));
  }
};

// Reads into the place, or says why not.
struct Reader {
  const Key& key;
  const Given& given;

  Error wrong() const { return wrong("must be " + std::visit(InWords{key}, slot)); }
  Error wrong(std::string_view what) const {
    return {Errc::kInvalid, std::string(what) + ", not " + given.shown()};
  }
  const std::string* text() const { return std::get_if<std::string>(&given.value); }

  template <class Value>
  Status in_range(const Value& value, std::uint64_t measure, std::string (*show)(std::uint64_t),
                  Value& out) const {
    if (measure < key.min) return wrong("must be at least " + show(key.min));
    if (measure > key.max) return wrong("must be at most " + show(key.max));
    out = value;
    return Unit{};
  }

  Status operator()(bool* out) const {
    if (const auto* value = std::get_if<bool>(&given.value)) {
      *out = *value;
      return Unit{};
    }
    if (!given.loose || (*text() != "true" && *text() != "false")) return wrong();
    *out = *text() == "true";
    return Unit{};
  }

  Status operator()(std::uint32_t* out) const {
    std::int64_t number = 0;
    if (const auto* value = std::get_if<std::int64_t>(&given.value)) {
      number = *value;
    } else if (given.loose) {
      const auto read = parse_number<std::int64_t>(*text());
      if (!read) return wrong();
      number = *read;
    } else {
      return wrong();
    }
    if (number < 0 || std::cmp_less(number, key.min) || std::cmp_greater(number, key.max)) {
      return wrong();
    }
    *out = static_cast<std::uint32_t>(number);
    return Unit{};
  }

  Status operator()(Percent out) const {
    if (text() == nullptr || !text()->ends_with('%')) return wrong();
    const std::string_view digits(text()->data(), text()->size() - 1);
    const auto number = parse_number<std::uint32_t>(digits);
    if (!number || *number < key.min || *number > key.max) return wrong();
    *out.number = *number;
    return Unit{};
  }

  // 8 would be eight bytes, which nobody means.
  Status refuse_bare_size() const {
    const auto* number = std::get_if<std::int64_t>(&given.value);
    const std::string bare = number != nullptr   ? std::to_string(*number)
                             : text() != nullptr ? *text()
                                                 : std::string();
    const auto meant = meant_by_bare_size(bare);
    if (!meant) return Unit{};
    return Error{Errc::kInvalid, "a size needs a unit; did you mean \"" + *meant + "\"?"};
  }

  Status operator()(Bytes* out) const {
    TRY_STATUS(refuse_bare_size());
    if (text() == nullptr) return wrong();
    const Result<Bytes> bytes = parse_bytes(*text());
    if (!bytes.ok()) return bytes.error();
    return in_range(
        *bytes, bytes->value, [](std::uint64_t min) { return to_text(Bytes{min}); }, *out);
  }

  Status operator()(Duration* out) const {
    if (text() == nullptr) return wrong();
    const Result<Duration> duration = parse_duration(*text());
    if (!duration.ok()) return duration.error();
    if (duration->ns % milliseconds(1).ns != 0) return wrong("must be whole milliseconds");
    const auto show = [](std::uint64_t min) {
      return to_text(Duration{static_cast<std::int64_t>(min)});
    };
    return in_range(*duration, static_cast<std::uint64_t>(duration->ns), show, *out);
  }

  Status operator()(std::string* out) const {
    if (text() == nullptr) return wrong();
    if (!is_line(*text())) return wrong("must not hold control characters");
    if (text()->size() > key.max) {
      return wrong("must have at most " + std::to_string(key.max) + " bytes");
    }
    const bool relative = !text()->empty() && !text()->starts_with('/');
    if (key.text == Key::Text::kAbsolutePath && relative) return wrong();
    const bool is_url = text()->starts_with("https://") || text()->starts_with("http://");
    if (key.text == Key::Text::kUrl && !text()->empty() && !is_url) {
      return Error{Errc::kInvalid, "must be " + InWords{key}(out)};  // It may hold a secret.
    }
    *out = *text();
    return Unit{};
  }

  Status operator()(std::vector<std::string>* out) const {
    const auto* list = std::get_if<Given::List>(&given.value);
    if (list == nullptr) return wrong();
    if (list->size() > key.max) {
      return Error{Errc::kInvalid, "must have at most " + std::to_string(key.max) + " elements"};
    }
    std::vector<std::string> texts;
    for (const Given& element : *list) {
      const auto* value = std::get_if<std::string>(&element.value);
      const bool sound = value != nullptr && !value->empty() && *value != "@" && is_line(*value);
      if (!sound) {
        return Error{Errc::kInvalid, "must be a list of text; " + element.shown() + " is in it"};
      }
      texts.push_back(*value);
    }
    *out = std::move(texts);
    return Unit{};
  }

  Status operator()(Ladder* out) const {
    if (!std::holds_alternative<Given::List>(given.value)) return wrong();
    std::vector<std::string> ladder_steps;
    TRY_STATUS((*this)(&ladder_steps));
    TRY(ladder, parse_ladder(ladder_steps, key.cause));
    *out = std::move(ladder);
    return Unit{};
  }

  Status operator()(Labels* out) const {
    const auto* table = std::get_if<Given::Table>(&given.value);
    if (table == nullptr) return wrong();
    if (table->size() > key.max) {
      return Error{Errc::kInvalid, "must have at most " + std::to_string(key.max) + " entries"};
    }
    Labels labels;
    for (const Entry& entry : *table) {
      const auto* value = std::get_if<std::string>(&entry.given.value);
      if (value == nullptr || !is_line(*value) || !is_line(entry.key) || entry.key.empty()) {
        return Error{Errc::kInvalid,
                     "must be a table of text; " + entry.given.shown() + " is in it"};
      }
      if (std::max(value->size(), entry.key.size()) > limits::kNameMax) {
        return Error{Errc::kInvalid, "must have keys and values of at most " +
                                         std::to_string(limits::kNameMax) + " bytes"};
      }
      labels.emplace(entry.key, *value);
    }
    *out = std::move(labels);
    return Unit{};
  }

  Status operator()(DefaultVram* out) const {
    TRY_STATUS(refuse_bare_size());
    if (text() == nullptr) return wrong();
    using Kind = DefaultVram::Kind;
    for (const auto& [word, kind] :
         {std::pair("exclusive", Kind::kExclusive), std::pair("ask", Kind::kAsk),
          std::pair("learned", Kind::kLearned)}) {
      if (*text() != word) continue;
      *out = {.kind = kind};
      return Unit{};
    }
    Bytes size;
    if (!parse_bytes(*text()).ok()) return wrong();
    TRY_STATUS((*this)(&size));
    *out = {.kind = DefaultVram::Kind::kSize, .size = size};
    return Unit{};
  }

  Status operator()(alerts::Expression* out) const {
    if (text() == nullptr) return wrong();
    TRY(expression, alerts::parse_expression(*text()));
    *out = std::move(expression);
    return Unit{};
  }

  template <HasWords E>
  Status operator()(E* out) const {
    if (text() == nullptr) return wrong();
    if (const std::optional<E> value = parse_word<E>(*text())) {
      *out = *value;
      return Unit{};
    }
    Error error = wrong();
    if (const auto meant = nearest(*text(), kTextsOf<E>)) {
      error.message += "; did you mean '" + std::string(*meant) + "'?";
    }
    return error;
  }

  template <class T>
  Status operator()(std::optional<T>* out) const {
    T value{};
    TRY_STATUS((*this)(&value));
    *out = value;
    return Unit{};
  }

  Slot slot;
};

// An exact size or duration, in the largest unit that divides it.
struct UnitOf {
  std::uint64_t factor;
  std::string_view name;
};
std::string in_units(std::uint64_t value, std::span<const UnitOf> units) {
  for (const UnitOf& unit : units) {
    if (value % unit.factor == 0) {
      return "\"" + std::to_string(value / unit.factor) + std::string(unit.name) + "\"";
    }
  }
  return "\"" + std::to_string(value) + "\"";
}

struct AsToml {
  using Text = std::optional<std::string>;
  Text operator()(const bool* value) const { return *value ? "true" : "false"; }
  Text operator()(const std::uint32_t* value) const { return std::to_string(*value); }
  Text operator()(Percent value) const { return "\"" + std::to_string(*value.number) + "%\""; }
  Text operator()(const Bytes* value) const {
    constexpr std::array<UnitOf, 5> kUnits = {{{1ULL << 40U, "TiB"},
                                               {1ULL << 30U, "GiB"},
                                               {1ULL << 20U, "MiB"},
                                               {1ULL << 10U, "KiB"},
                                               {1, "B"}}};
    return value->value == 0 ? "\"0B\"" : in_units(value->value, kUnits);
  }
  Text operator()(const Duration* value) const {
    constexpr std::array<UnitOf, 5> kUnits = {{{86'400'000'000'000, "d"},
                                               {3'600'000'000'000, "h"},
                                               {60'000'000'000, "m"},
                                               {1'000'000'000, "s"},
                                               {1'000'000, "ms"}}};
    return value->ns == 0 ? "\"0s\"" : in_units(static_cast<std::uint64_t>(value->ns), kUnits);
  }
  Text operator()(const std::string* value) const { return toml_text(*value); }
  Text operator()(const std::vector<std::string>* values) const {
    std::string text;
    for (const std::string& value : *values) {
      text += (text.empty() ? "" : ", ") + toml_text(value);
    }
    return "[" + text + "]";
  }
  Text operator()(const Ladder* ladder) const {
    std::vector<std::string> ladder_steps;
    for (const LadderStep& ladder_step : *ladder) ladder_steps.push_back(to_text(ladder_step));
    return (*this)(&ladder_steps);
  }
  Text operator()(const Labels* labels) const {
    std::string text;
    for (const auto& [key, value] : *labels) {
      text += (text.empty() ? " " : ", ") + toml_key(key) + " = " + toml_text(value);
    }
    return "{" + text + (text.empty() ? "}" : " }");
  }
  Text operator()(const alerts::Expression* value) const {
    return toml_text(alerts::to_text(*value));
  }
  Text operator()(const DefaultVram* value) const {
    switch (value->kind) {
      case DefaultVram::Kind::kExclusive:
        return "\"exclusive\"";
      case DefaultVram::Kind::kAsk:
        return "\"ask\"";
      case DefaultVram::Kind::kLearned:
        return "\"learned\"";
      case DefaultVram::Kind::kSize:
        break;
    }
    return (*this)(&value->size);
  }
  template <HasWords E>
  Text operator()(const E* value) const {
    return "\"" + std::string(berth::to_text(*value)) + "\"";
  }
  template <class T>
  Text operator()(const std::optional<T>* value) const {
    return *value ? (*this)(&**value) : std::nullopt;
  }
};

struct ChoicesOf {
  template <class T>
  std::vector<std::string_view> operator()(T*) const {
    if constexpr (HasWords<T>) {
      return texts_of<T>();
    } else {
      return {};
    }
  }
  template <class T>
  std::vector<std::string_view> operator()(std::optional<T>*) const {
    return (*this)(static_cast<T*>(nullptr));
  }
  std::vector<std::string_view> operator()(Percent) const { return {}; }
};

}  // namespace

Status read(const Key& key, const Given& given, Slot slot) {
  return std::visit(Reader{.key = key, .given = given, .slot = slot}, slot);
}

std::string in_words(const Key& key) {
  Config config;
  return std::visit(InWords{key}, slot_of(key, config));
}

std::optional<std::string> as_toml(Slot slot) {
  return std::visit(AsToml{}, slot);
}

std::vector<std::string_view> choices_of(const Key& key) {
  Config config;
  return std::visit(ChoicesOf{}, slot_of(key, config));
}

std::string toml_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string toml_key(std::string_view name) {
  return is_bare_word(name) ? std::string(name) : toml_text(name);
}

Slot slot_of(const Key& key, Config& config) {
  return key.slot(config, "GPU-00000000-0000-0000-0000-000000000000");
}

}  // namespace berth::config
