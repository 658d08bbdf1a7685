// SPDX-License-Identifier: Apache-2.0
#include "train/state_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/number.h"

namespace berth::train {
namespace {

constexpr std::string_view kNone = "none";

// The shortest text that reads back as the same number.
template <class Number>
std::string written(Number value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  CHECK(end.ec == std::errc{});
  return {text.data(), end.ptr};
}

template <class Number>
bool read_whole(std::string_view text, Number& value) {
  const auto number = parse_number<Number>(text);
  value = number.value_or(value);
  return number.has_value();
}

}  // namespace

void StateText::field(std::string_view name, double& value) {
  if (writing_) return put(name, written(value));
  const auto text = found(name);
  if (!text || !read_whole(*text, value)) fail(name);
}

void StateText::field(std::string_view name, std::uint64_t& value) {
  if (writing_) return put(name, written(value));
  const auto text = found(name);
  if (!text || !read_whole(*text, value)) fail(name);
}

void StateText::field(std::string_view name, std::uint32_t& value, std::uint32_t most) {
  std::uint64_t wide = value;
  field(name, wide);
  if (wide > most) return fail(name);
  value = static_cast<std::uint32_t>(wide);
}

void StateText::field(std::string_view name, bool& value) {
  std::uint32_t number = value ? 1 : 0;
  field(name, number, 1);
  value = number == 1;
}

void StateText::field(std::string_view name, std::optional<double>& value) {
  if (writing_) return put(name, value ? written(*value) : std::string(kNone));
  const auto text = found(name);
  if (text == kNone) {
    value.reset();
  } else if (double number = 0; text && read_whole(*text, number)) {
    value = number;
  } else {
    fail(name);
  }
}

void StateText::field(std::string_view name, std::span<double> values) {
  if (writing_) {
    std::string text;
    for (const double value : values) text.append(text.empty() ? "" : " ").append(written(value));
    return put(name, std::move(text));
  }
  auto rest = found(name);
  if (!rest) return fail(name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t end = std::min(rest->find(' '), rest->size());
    const bool is_last = i + 1 == values.size();
    if (is_last != (end == rest->size()) || !read_whole(rest->substr(0, end), values[i])) {
      return fail(name);
    }
    rest->remove_prefix(is_last ? end : end + 1);
  }
  if (!rest->empty()) fail(name);
}

Status StateText::outcome() const {
  CHECK(!writing_);
  if (wrong_.empty()) return Unit{};
  return Error{Errc::kCorrupt, "the saved state has no usable " + wrong_};
}

std::optional<std::string_view> StateText::found(std::string_view name) {
  const auto at = values_.find(full_name(name));
  if (at == values_.end()) return std::nullopt;
  return at->second;
}

void StateText::put(std::string_view name, std::string value) {
  const bool is_first = values_.emplace(full_name(name), std::move(value)).second;
  CHECK(is_first);
}

}  // namespace berth::train
