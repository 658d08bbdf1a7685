// SPDX-License-Identifier: Apache-2.0
// One JSON object in one line, member by member, for metrics. What is unknown or no number is
// null. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::train {

class JsonLine {
 public:
  JsonLine& text(std::string_view name, std::string_view value);
  JsonLine& number(std::string_view name, std::optional<double> value);
  JsonLine& count(std::string_view name, std::uint64_t value);
  JsonLine& flag(std::string_view name, bool value);
  JsonLine& object(std::string_view name, const JsonLine& value);

  /// Without the end of the line.
  std::string str() const { return "{" + members_ + "}"; }

 private:
  void begin(std::string_view name);

  std::string members_;
};

}  // namespace berth::train
