// SPDX-License-Identifier: Apache-2.0
#include "wire/json_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <utility>

#include "base/letters.h"
#include "base/nearest.h"
#include "base/number.h"
#include "wire/iso_time.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

using Kind = JsonTree::Kind;

constexpr std::size_t kShownMax = 40;  // Letters of a text from outside that a message repeats.

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

template <class Number>
std::optional<Number> whole(const JsonTree::Node& node) {
  if (node.kind != Kind::kNumber) return std::nullopt;
  return parse_number<Number>(node.text);
}

// Negative zero is one, too.
std::optional<std::uint64_t> whole_without_sign(const JsonTree::Node& node) {
  if (node.kind == Kind::kNumber && node.text == "-0") return 0;
  return whole<std::uint64_t>(node);
}

std::string fault_text(const JsonTree::Fault& fault) {
  switch (fault.kind) {
    case JsonTree::Fault::Kind::kNoJson:
      return "is not valid JSON (byte " + std::to_string(fault.byte) + ")";
    case JsonTree::Fault::Kind::kTooDeep:
      return "is nested deeper than " + std::to_string(JsonTree::kDepthMax) + " levels";
    case JsonTree::Fault::Kind::kKeyTwice:
      return "gives the field '" + shown(fault.key) + "' twice";
  }
  std::unreachable();
}

JsonTree empty_object() {
  return JsonTree::parse("{}").value_or(JsonTree());
}

}  // namespace

std::string shown(std::string_view text) {
  if (text.size() <= kShownMax) return std::string(text);
  return std::string(whole_letters(text, kShownMax)) + "…";
}

JsonDocument::JsonDocument(std::string_view text, Form form)
    : what_(form.what), manner_(form.manner), tree_(empty_object()) {
  if (text.size() > form.size_max) {
    fail(Errc::kFull, what_ + " has more than " + std::to_string(form.size_max) + " bytes");
    return;
  }
  if (text.empty()) return;
  auto parsed = JsonTree::parse_strictly(text);
  if (const auto* fault = std::get_if<JsonTree::Fault>(&parsed)) {
    fail(Errc::kInvalid, what_ + " " + fault_text(*fault));
    return;
  }
  tree_ = std::get<JsonTree>(std::move(parsed));
  if (tree_[0].kind == Kind::kObject) return;
  fail(Errc::kInvalid, what_ + " must be a JSON object, not " + root().kind_of(0));
  tree_ = empty_object();
}

ObjectReader JsonDocument::root() {
  return {*this, 0, ""};
}

Status JsonDocument::status() const {
  if (error_) return *error_;
  return Unit{};
}

void JsonDocument::fail(Errc code, std::string message) {
  if (!error_) error_ = Error{code, std::move(message)};
}

ObjectReader::ObjectReader(JsonDocument& document, Index object, std::string path)
    : document_(&document), object_(object), next_(object + 1), path_(std::move(path)) {}

void ObjectReader::refuse(std::string_view field, std::string_view why) {
  document_->fail(Errc::kInvalid,
                  document_->what_ + ": field " + name(field) + " " + std::string(why));
}

void ObjectReader::refuse_word(std::string_view field, std::string_view found,
                               std::string_view choices) {
  refuse(field, "must be " + std::string(choices) + ", not '" + shown(found) + "'");
}

std::optional<ObjectReader::Index> ObjectReader::find(std::string_view field) {
  if (document_->manner_ == Manner::kStrict) asked_.emplace_back(field);
  const auto value_among = [&](Index from, Index to) -> std::optional<Index> {
    for (Index key = from; key < to; key = node(key + 1).end) {
      if (node(key).escaped ? text_at(key) == field : node(key).text == field) return key + 1;
    }
    return std::nullopt;
  };
  std::optional<Index> value = value_among(next_, end());
  if (!value) value = value_among(object_ + 1, next_);
  if (!value) return std::nullopt;
  next_ = *value - 1;
  return node(*value).kind == Kind::kNull ? std::nullopt : value;
}

std::string ObjectReader::kind_of(Index index) const {
  switch (node(index).kind) {
    case Kind::kNumber:
      if (whole<std::uint64_t>(node(index)) || whole<std::int64_t>(node(index)))
        return std::string(node(index).text);
      return "a number with a fraction or an exponent, or too large";
    case Kind::kText:
      return "text";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
    default:
      return std::string(node(index).text);
  }
}

void ObjectReader::text(std::string_view field, std::string& out) {
  const std::optional<Index> value = find(field);
  if (!value) return;
  std::optional<std::string> found = text_at(*value);
  if (!found) return refuse(field, "must be text, not " + kind_of(*value));
  out = *std::move(found);
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
  const std::optional<Index> value = find(field);
  if (!value) return;
  const Kind kind = node(*value).kind;
  if (kind != Kind::kTrue && kind != Kind::kFalse)
    return refuse(field, "must be true or false, not " + kind_of(*value));
  out = kind == Kind::kTrue;
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
  const std::optional<Index> value = find(field);
  if (!value) return std::nullopt;
  const std::optional<std::int64_t> number = whole<std::int64_t>(node(*value));
  if (number && *number >= min && *number <= max) return number;
  refuse(field, "must be a whole number of " + std::string(bits) + " bits, not " + kind_of(*value));
  return std::nullopt;
}

std::optional<std::uint64_t> ObjectReader::number(std::string_view field, Range range) {
  const std::optional<Index> value = find(field);
  if (!value) return std::nullopt;
  const std::optional<std::uint64_t> found = whole_without_sign(node(*value));
  if (found && *found >= range.min && *found <= range.max) return found;
  refuse(field, "must be a whole number from " + std::to_string(range.min) + " to " +
                    std::to_string(range.max) + ", not " + kind_of(*value));
  return std::nullopt;
}

void ObjectReader::number(std::string_view field, std::uint32_t& out, Range range) {
  range.max = std::min<std::uint64_t>(range.max, std::numeric_limits<std::uint32_t>::max());
  if (const auto value = number(field, range)) out = static_cast<std::uint32_t>(*value);
}

void ObjectReader::real(std::string_view field, double& out) {
  const std::optional<Index> value = find(field);
  if (!value) return;
  const JsonTree::Node& found = node(*value);
  const bool is_number = found.kind == JsonTree::Kind::kNumber;
  const auto read = is_number ? parse_number<double>(found.text) : std::nullopt;
  if (read && std::isfinite(*read)) {
    out = *read;
  } else {
    refuse(field, "must be a number, not " + kind_of(*value));
  }
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
  std::optional<ObjectReader> inner = object(field);
  if (!inner) return;
  for (Index at = inner->object_ + 1; at < inner->end(); at = node(at + 1).end) {
    const std::string key = text_at(at).value_or("");
    std::string found;
    if (node(at + 1).kind == Kind::kNull) inner->refuse(shown(key), "must be text, not null");
    titles_only ? inner->title(key, found) : inner->text(key, found);
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

std::optional<std::vector<ObjectReader::Index>> ObjectReader::array(std::string_view field,
                                                                    std::size_t count_max) {
  const std::optional<Index> value = find(field);
  if (!value) return std::nullopt;
  if (node(*value).kind != Kind::kArray) {
    refuse(field, "must be an array, not " + kind_of(*value));
    return std::nullopt;
  }
  std::vector<Index> items;
  for (Index item = *value + 1; item < node(*value).end; item = node(item).end) {
    if (items.size() == count_max) {
      refuse(field, "may have at most " + std::to_string(count_max) + " elements");
      return std::nullopt;
    }
    items.push_back(item);
  }
  return items;
}

void ObjectReader::words(std::string_view field, std::vector<std::string>& out) {
  const auto items = array(field, std::numeric_limits<std::size_t>::max());
  if (!items) return;
  for (const Index item : *items) {
    std::optional<std::string> text = text_at(item);
    if (!text) return refuse(field, "must be an array of text");
    out.push_back(*std::move(text));
  }
}

std::optional<ObjectReader::NumberOrText> ObjectReader::number_or_text(std::string_view field) {
  const std::optional<Index> value = find(field);
  if (!value) return std::nullopt;
  if (auto text = text_at(*value)) return NumberOrText(*std::move(text));
  if (const auto number = whole<std::uint64_t>(node(*value))) return NumberOrText(*number);
  refuse(field, "must be a whole number or text, not " + kind_of(*value));
  return std::nullopt;
}

std::vector<ObjectReader::NumberOrText> ObjectReader::numbers_or_texts(std::string_view field,
                                                                       std::size_t count_max) {
  std::vector<NumberOrText> found;
  const auto items = array(field, count_max);
  if (!items) return found;
  for (const Index item : *items) {
    if (auto text = text_at(item)) {
      found.emplace_back(*std::move(text));
    } else if (const auto number = whole<std::uint64_t>(node(item))) {
      found.emplace_back(*number);
    } else {
      refuse(field, "must be an array of whole numbers and text, not of " + kind_of(item));
      break;
    }
  }
  return found;
}

std::vector<std::uint64_t> ObjectReader::numbers(std::string_view field, Range range,
                                                 std::size_t count_max) {
  std::vector<std::uint64_t> found;
  const auto items = array(field, count_max);
  if (!items) return found;
  for (const Index item : *items) {
    const std::optional<std::uint64_t> number = whole<std::uint64_t>(node(item));
    if (!number || *number < range.min || *number > range.max) {
      refuse(field, "must be an array of whole numbers from " + std::to_string(range.min) + " to " +
                        std::to_string(range.max) + ", not of " + kind_of(item));
      break;
    }
    found.push_back(*number);
  }
  return found;
}

std::optional<ObjectReader> ObjectReader::object(std::string_view field) {
  const std::optional<Index> value = find(field);
  if (!value) return std::nullopt;
  if (node(*value).kind != Kind::kObject) {
    refuse(field, "must be an object, not " + kind_of(*value));
    return std::nullopt;
  }
  return ObjectReader(*document_, *value, path_ + std::string(field) + ".");
}

std::vector<ObjectReader> ObjectReader::objects(std::string_view field, std::size_t count_max) {
  std::vector<ObjectReader> found;
  const auto items = array(field, count_max);
  if (!items) return found;
  found.reserve(items->size());
  for (const Index item : *items) {
    if (node(item).kind != Kind::kObject) {
      refuse(field, "must be an array of objects, not of " + kind_of(item));
      break;
    }
    found.push_back(ObjectReader(*document_, item, path_ + std::string(field) + "."));
  }
  return found;
}

void ObjectReader::done() {
  if (document_->manner_ == Manner::kLenient) return;
  const std::vector<std::string_view> known(asked_.begin(), asked_.end());
  for (Index at = object_ + 1; at < end(); at = node(at + 1).end) {
    const std::string key = text_at(at).value_or("");
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string message = document_->what_ + ": there is no field " + name(shown(key));
    if (const auto meant = nearest(key, known)) message += "; did you mean " + name(*meant) + "?";
    document_->fail(Errc::kNotFound, std::move(message));
  }
}

}  // namespace berth::wire
