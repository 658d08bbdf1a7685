// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "base/json_string.h"
#include "base/json_tree.h"
#include "base/quantity.h"

namespace berth {
namespace {

void append_number(auto value, std::string& text) {
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end);
}

}  // namespace

void JsonWriter::separate() {
  if (comma_) text_ += ',';
  comma_ = true;
  if (indented_ && depth_ > 0 && !after_key_) begin_line();
  after_key_ = false;
}

void JsonWriter::begin_line() {
  text_ += '\n';
  text_.append(std::size_t{2} * depth_, ' ');
}

void JsonWriter::close(char bracket) {
  CHECK(depth_ > 0);
  --depth_;
  if (indented_ && comma_) begin_line();  // Not in what is empty.
  text_ += bracket;
  comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  text_ += '{';
  comma_ = false;
  ++depth_;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  close('}');
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  text_ += '[';
  comma_ = false;
  ++depth_;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  close(']');
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(name, text_);
  text_ += indented_ ? ": " : ":";
  comma_ = false;
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::plain_key(std::string_view name) {
  if (indented_) return key(name);
  text_ += comma_ ? ",\"" : "\"";
  text_ += name;
  text_ += "\":";
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  text_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  separate();
  append_number(value, text_);
  return *this;
}

JsonWriter& JsonWriter::number(std::uint64_t value) {
  separate();
  append_number(value, text_);
  return *this;
}

JsonWriter& JsonWriter::thousandths(std::uint64_t value) {
  separate();
  const std::string rest = std::to_string(value % 1'000);
  text_ += std::to_string(value / 1'000) + "." + std::string(3 - rest.size(), '0') + rest;
  return *this;
}

JsonWriter& JsonWriter::real(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return null();
  separate();
  append_number(*value, text_);
  return *this;
}

JsonWriter& JsonWriter::plain_text(std::string_view value) {
  separate();
  text_ += '"';
  text_ += value;
  text_ += '"';
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  append_json_string(value, text_);
  return *this;
}

JsonWriter& JsonWriter::json(std::string_view value) {
  CHECK(is_json(value));
  separate();
  text_ += value;
  return *this;
}

JsonWriter& JsonWriter::milliseconds(std::optional<Duration> value) {
  // A figure of two clocks may come out a little below nothing; readers expect none such.
  return value ? integer(std::max<std::int64_t>(0, value->ns / 1'000'000)) : null();
}

JsonWriter& JsonWriter::time(std::optional<UnixMs> value) {
  return value ? text(to_text(*value)) : null();
}

std::string JsonWriter::take() {
  CHECK(depth_ == 0);
  comma_ = false;
  return std::exchange(text_, {});
}

}  // namespace berth
