// SPDX-License-Identifier: Apache-2.0
// The state of what decides, as names and values in text, for checkpoints. One function of each
// class names its members, and both writes and reads them: what is saved is what is loaded.
// Numbers come back to the last bit. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::train {

class StateText {
 public:
  using Values = std::map<std::string, std::string>;

  /// One that takes down what it visits.
  StateText() : writing_(true) {}
  /// One that sets what it visits to these values.
  explicit StateText(Values values) : writing_(false), values_(std::move(values)) {}

  /// Names of the fields that follow begin with this, up to the next call.
  void section(std::string_view name) { section_ = name; }
  void field(std::string_view name, double& value);
  void field(std::string_view name, std::uint64_t& value);
  void field(std::string_view name, std::uint32_t& value,
             std::uint32_t most = std::numeric_limits<std::uint32_t>::max());
  void field(std::string_view name, bool& value);
  void field(std::string_view name, std::optional<double>& value);
  /// As many as there are, in one value.
  void field(std::string_view name, std::span<double> values);

  bool is_reading() const { return !writing_; }
  const Values& values() const { return values_; }
  /// When reading: kCorrupt, naming the first field that was missing or no such value.
  Status outcome() const;

 private:
  std::optional<std::string_view> found(std::string_view name);
  void put(std::string_view name, std::string value);
  void fail(std::string_view name) {
    if (wrong_.empty()) wrong_ = full_name(name);
  }
  std::string full_name(std::string_view name) const { return section_ + "." + std::string(name); }

  bool writing_;
  std::string section_;
  Values values_;
  std::string wrong_;
};

}  // namespace berth::train
