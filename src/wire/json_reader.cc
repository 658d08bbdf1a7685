// SPDX-License-Identifier: Apache-2.0
#include "wire/json_reader.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/letters.h"
#include "base/nearest.h"
#include "wire/iso_time.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

using nlohmann::json;

constexpr std::size_t kShownMax = 40;  // Letters of somebody's text that a message repeats.

std::string shown(std::string_view text) {
  if (text.size() <= kShownMax) return std::string(text);
  std::size_t end = kShownMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "…";
}

bool is_line(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) return false;
    const bool c1 =
        c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) return false;
  }
  return true;
}

struct Letters {
  char32_t first;
  char32_t last;
};

// Marks of direction, letters without width, tags: two names that look alike would not be.
constexpr std::array kUnseen = {
    Letters{0x061C, 0x061C}, Letters{0x200B, 0x200F}, Letters{0x2028, 0x202E},
    Letters{0x2060, 0x206F}, Letters{0xFEFF, 0xFEFF}, Letters{0xE0000, 0xE007F},
};

// The first of them in the text, which is UTF-8: the parser has seen to it.
std::optional<char32_t> unseen_letter(std::string_view text) {
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    for (const Letters& range : kUnseen) {
      if (letter.code >= range.first && letter.code <= range.last) return letter.code;
    }
    text.remove_prefix(letter.size);
  }
  return std::nullopt;
}

// Empty: it may be a name.
std::string bar_to_name(std::string_view text) {
  if (!is_line(text)) return "must not hold control characters";
  const std::optional<char32_t> unseen = unseen_letter(text);
  if (!unseen) return {};
  std::array<char, 16> code{};
  (void)std::snprintf(code.data(), code.size(), "U+%04X", static_cast<unsigned>(*unseen));
  return "must not hold " + std::string(code.data()) +
         ", which cannot be seen or turns the direction of text";
}

std::string kind_of(const json& value) {
  if (value.is_number_float()) return "a number with a fraction or an exponent, or too large";
  if (value.is_number()) return value.dump();
  if (value.is_string()) return "text";
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  return value.dump();
}

// Builds the document, and stops at what the library would let pass: a key given twice (the last
// would win, unnoticed) and nesting without bound.
class StrictBuilder final : public json::json_sax_t {
 public:
  explicit StrictBuilder(json& root) : root_(&root) {}

  bool null() override { return add(json(nullptr)); }
  bool boolean(bool value) override { return add(json(value)); }
  bool number_integer(number_integer_t value) override { return add(json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(json(value)); }
  bool string(string_t& value) override { return add(json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return enter(json::object()); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(json::array()); }
  bool end_array() override { return leave(); }
  bool key(string_t& value) override {
    if (open_.back()->contains(value)) {
      error_ = "gives the field '" + shown(value) + "' twice";
      return false;
    }
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    error_ = "is not valid JSON (byte " + std::to_string(position) + ")";
    return false;
  }

  const std::string& error() const { return error_; }

 private:
  json* place(json value) {
    if (open_.empty()) {
      *root_ = std::move(value);
      return root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool enter(json value) {
    if (open_.size() == limits::kDepthMax) {
      error_ = "is nested deeper than " + std::to_string(limits::kDepthMax) + " levels";
      return false;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool leave() {
    open_.pop_back();
    return true;
  }

  json* root_;
  std::vector<json*> open_;
  std::string key_;
  std::string error_;
};

}  // namespace

JsonDocument::JsonDocument(std::string_view text, Form form)
    : what_(form.what), manner_(form.manner), json_(std::make_unique<json>(json::object())) {
  if (text.size() > form.size_max) {
    fail(Errc::kFull, what_ + " has more than " + std::to_string(form.size_max) + " bytes");
    return;
  }
  if (text.empty()) return;
  StrictBuilder builder(*json_);
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    // The library takes it for the end of the text, and what stands behind it for nothing.
    fail(Errc::kInvalid, what_ + " is not valid JSON (byte " + std::to_string(nul + 1) + ")");
  } else if (!json::sax_parse(text, &builder)) {
    fail(Errc::kInvalid, what_ + " " + builder.error());
  } else if (!json_->is_object()) {
    fail(Errc::kInvalid, what_ + " must be a JSON object, not " + kind_of(*json_));
  }
  if (error_) *json_ = json::object();
}

JsonDocument::~JsonDocument() = default;

ObjectReader JsonDocument::root() {
  return {*this, json_.get(), ""};
}

Status JsonDocument::status() const {
  if (error_) return *error_;
  return Unit{};
}

void JsonDocument::fail(Errc code, std::string message) {
  if (!error_) error_ = Error{code, std::move(message)};
}

ObjectReader::ObjectReader(JsonDocument& document, const json* object, std::string path)
    : document_(&document), json_(object), path_(std::move(path)) {}

std::string ObjectReader::name(std::string_view field) const {
  return "'" + path_ + std::string(field) + "'";
}

void ObjectReader::refuse(std::string_view field, std::string_view why) {
  document_->fail(Errc::kInvalid,
                  document_->what_ + ": field " + name(field) + " " + std::string(why));
}

void ObjectReader::refuse_word(std::string_view field, std::string_view found,
                               std::string_view choices) {
  refuse(field, "must be " + std::string(choices) + ", not '" + shown(found) + "'");
}

const json* ObjectReader::find(std::string_view field) {
  if (document_->manner_ == Manner::kStrict) asked_.emplace_back(field);
  const auto at = json_->find(std::string(field));
  return at == json_->end() || at->is_null() ? nullptr : &*at;
}

bool ObjectReader::has(std::string_view field) {
  return find(field) != nullptr;
}

void ObjectReader::require(std::string_view field) {
  if (!has(field)) refuse(field, "is missing");
}

void ObjectReader::text(std::string_view field, std::string& out) {
  const json* value = find(field);
  if (value == nullptr) return;
  if (!value->is_string()) return refuse(field, "must be text, not " + kind_of(*value));
  out = value->get_ref<const std::string&>();
  if (out.find('\0') != std::string::npos) refuse(field, "must not hold a NUL character");
}

void ObjectReader::line(std::string_view field, std::string& out) {
  text(field, out);
  if (!is_line(out)) refuse(field, "must not hold control characters");
}

void ObjectReader::title(std::string_view field, std::string& out) {
  text(field, out);
  if (const std::string bar = bar_to_name(out); !bar.empty()) refuse(field, bar);
}

void ObjectReader::boolean(std::string_view field, bool& out) {
  const json* value = find(field);
  if (value == nullptr) return;
  if (!value->is_boolean()) return refuse(field, "must be true or false, not " + kind_of(*value));
  out = value->get<bool>();
}

void ObjectReader::integer(std::string_view field, std::int32_t& out) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (const auto value = integer_between(field, kMin, kMax, "32"))
    out = static_cast<std::int32_t>(*value);
}

void ObjectReader::integer(std::string_view field, std::int64_t& out) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (const auto value = integer_between(field, kMin, kMax, "64")) out = *value;
}

std::optional<std::int64_t> ObjectReader::integer_between(std::string_view field, std::int64_t min,
                                                          std::int64_t max, std::string_view bits) {
  const json* value = find(field);
  if (value == nullptr) return std::nullopt;
  const bool huge =
      value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(max);
  if (!value->is_number_integer() || huge || value->get<std::int64_t>() < min) {
    refuse(field,
           "must be a whole number of " + std::string(bits) + " bits, not " + kind_of(*value));
    return std::nullopt;
  }
  return value->get<std::int64_t>();
}

std::optional<std::uint64_t> ObjectReader::number(std::string_view field, Range range) {
  const json* value = find(field);
  if (value == nullptr) return std::nullopt;
  // The library reads -0 as a signed 0 and every other whole number without a sign as unsigned.
  const bool whole = value->is_number_unsigned() || (value->is_number_integer() && *value == 0);
  const std::uint64_t found = whole ? value->get<std::uint64_t>() : 0;
  if (whole && found >= range.min && found <= range.max) return found;
  refuse(field, "must be a whole number from " + std::to_string(range.min) + " to " +
                    std::to_string(range.max) + ", not " + kind_of(*value));
  return std::nullopt;
}

void ObjectReader::number(std::string_view field, std::uint32_t& out, Range range) {
  range.max = std::min<std::uint64_t>(range.max, std::numeric_limits<std::uint32_t>::max());
  if (const auto value = number(field, range)) out = static_cast<std::uint32_t>(*value);
}

void ObjectReader::bytes(std::string_view field, Bytes& out, Bytes min) {
  if (const auto value = number(field, {min.value, limits::kVramMax.value})) out = Bytes{*value};
}

void ObjectReader::bytes(std::string_view field, std::optional<Bytes>& out) {
  if (const auto value = number(field, {0, Bytes::max().value})) out = Bytes{*value};
}

void ObjectReader::milliseconds(std::string_view field, std::optional<Duration>& out,
                                Duration min) {
  const std::int64_t ns_per_ms = berth::milliseconds(1).ns;
  const auto value =
      number(field, {static_cast<std::uint64_t>(min.ns / ns_per_ms),
                     static_cast<std::uint64_t>(limits::kDurationMax.ns / ns_per_ms)});
  if (value) out = berth::milliseconds(static_cast<std::int64_t>(*value));
}

void ObjectReader::milliseconds(std::string_view field, Duration& out) {
  std::optional<Duration> value;
  milliseconds(field, value);
  if (value) out = *value;
}

void ObjectReader::time(std::string_view field, std::optional<UnixMs>& out) {
  std::string found;
  text(field, found);
  if (!has(field)) return;
  if (const std::optional<UnixMs> time = parse_time(found)) {
    out = time;
  } else {
    refuse(field, "must be a time such as 2026-02-07T13:15:00.123Z");
  }
}

void ObjectReader::time(std::string_view field, UnixMs& out) {
  std::optional<UnixMs> value;
  time(field, value);
  if (value) out = *value;
}

void ObjectReader::each_text(std::string_view field, std::map<std::string, std::string>& out,
                             bool titles_only) {
  const json* value = find(field);
  if (value == nullptr) return;
  if (!value->is_object()) return refuse(field, "must be an object, not " + kind_of(*value));
  ObjectReader inner(*document_, value, path_ + std::string(field) + ".");
  for (const auto& [key, text_value] : value->items()) {
    std::string found;
    if (text_value.is_null()) inner.refuse(shown(key), "must be text, not null");
    titles_only ? inner.title(key, found) : inner.text(key, found);
    if (const std::string bar = bar_to_name(key); titles_only && !bar.empty()) refuse(field, bar);
    out.emplace(key, std::move(found));
  }
}

void ObjectReader::titles(std::string_view field, std::map<std::string, std::string>& out) {
  each_text(field, out, true);
}

void ObjectReader::texts(std::string_view field, std::map<std::string, std::string>& out) {
  each_text(field, out, false);
}

const json* ObjectReader::array(std::string_view field, std::size_t count_max) {
  const json* value = find(field);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) {
    refuse(field, "must be an array, not " + kind_of(*value));
    return nullptr;
  }
  if (value->size() > count_max) {
    refuse(field, "may have at most " + std::to_string(count_max) + " elements");
    return nullptr;
  }
  return value;
}

void ObjectReader::words(std::string_view field, std::vector<std::string>& out) {
  const json* values = array(field, std::numeric_limits<std::size_t>::max());
  if (values == nullptr) return;
  for (const json& value : *values) {
    if (!value.is_string()) return refuse(field, "must be an array of text");
    out.push_back(value.get<std::string>());
  }
}

std::vector<ObjectReader::NumberOrText> ObjectReader::numbers_or_texts(std::string_view field,
                                                                       std::size_t count_max) {
  std::vector<NumberOrText> found;
  const json* values = array(field, count_max);
  if (values == nullptr) return found;
  for (const json& value : *values) {
    if (value.is_string()) {
      found.emplace_back(value.get<std::string>());
    } else if (value.is_number_unsigned()) {
      found.emplace_back(value.get<std::uint64_t>());
    } else {
      refuse(field, "must be an array of whole numbers and text, not of " + kind_of(value));
      break;
    }
  }
  return found;
}

std::vector<std::uint64_t> ObjectReader::numbers(std::string_view field, Range range,
                                                 std::size_t count_max) {
  std::vector<std::uint64_t> found;
  const json* values = array(field, count_max);
  if (values == nullptr) return found;
  for (const json& value : *values) {
    const std::uint64_t number = value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
    if (!value.is_number_unsigned() || number < range.min || number > range.max) {
      refuse(field, "must be an array of whole numbers from " + std::to_string(range.min) + " to " +
                        std::to_string(range.max) + ", not of " + kind_of(value));
      break;
    }
    found.push_back(number);
  }
  return found;
}

std::optional<ObjectReader> ObjectReader::object(std::string_view field) {
  const json* value = find(field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    refuse(field, "must be an object, not " + kind_of(*value));
    return std::nullopt;
  }
  return ObjectReader(*document_, value, path_ + std::string(field) + ".");
}

std::vector<ObjectReader> ObjectReader::objects(std::string_view field, std::size_t count_max) {
  std::vector<ObjectReader> found;
  const json* values = array(field, count_max);
  if (values == nullptr) return found;
  found.reserve(values->size());
  for (const json& value : *values) {
    if (!value.is_object()) {
      refuse(field, "must be an array of objects, not of " + kind_of(value));
      break;
    }
    found.push_back(ObjectReader(*document_, &value, path_ + std::string(field) + "."));
  }
  return found;
}

void ObjectReader::done() {
  if (document_->manner_ == Manner::kLenient) return;
  const std::vector<std::string_view> known(asked_.begin(), asked_.end());
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string message = document_->what_ + ": there is no field " + name(shown(key));
    if (const auto meant = nearest(key, known)) message += "; did you mean " + name(*meant) + "?";
    document_->fail(Errc::kNotFound, std::move(message));
  }
}

}  // namespace berth::wire
