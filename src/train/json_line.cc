// SPDX-License-Identifier: Apache-2.0
#include "train/json_line.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/json_string.h"

namespace berth::train {

JsonLine& JsonLine::text(std::string_view name, std::string_view value) {
  begin(name);
  append_json_string(value, members_);
  return *this;
}

JsonLine& JsonLine::number(std::string_view name, std::optional<double> value) {
  begin(name);
  if (!value || !std::isfinite(*value)) {
    members_ += "null";
    return *this;
  }
  std::array<char, 40> shown{};
  const auto end = std::to_chars(shown.data(), shown.data() + shown.size(), *value);
  members_.append(shown.data(), end.ptr);
  return *this;
}

JsonLine& JsonLine::count(std::string_view name, std::uint64_t value) {
  begin(name);
  members_ += std::to_string(value);
  return *this;
}

JsonLine& JsonLine::flag(std::string_view name, bool value) {
  begin(name);
  members_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::object(std::string_view name, const JsonLine& value) {
  begin(name);
  members_ += value.str();
  return *this;
}

void JsonLine::begin(std::string_view name) {
  if (!members_.empty()) members_ += ",";
  append_json_string(name, members_);
  members_ += ":";
}

}  // namespace berth::train
