// SPDX-License-Identifier: Apache-2.0
// A full sample of any struct that has a table of fields: every member set, hardly two figures
// alike and none at its default. For tests; not part of a program.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/fnv1a.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"

namespace berth {

class SampleMaker {
 public:
  template <HasFields T>
  void fill(T& object) {
    const std::uint64_t first = next();
    for_each_field<T, side::kAll>([&](auto at) {
      constexpr const auto& kField = decltype(at)::kField;
      using Place = std::remove_cvref_t<decltype(kField.place)>;
      if constexpr (!kIsComputed<Place>) {
        most_ = kField.max;
        last_ = first + fnv1a(kField.wire.text()) % kFigures;
        fill(kField.place.reach(object));
      }
    });
    last_ = first;
  }

 private:
  // By the name of its field a figure is found, so that a new field changes none of the others.
  static constexpr std::uint64_t kFigures = 10'000;

  void fill(bool& value) { value = true; }
  void fill(std::integral auto& value) {
    using T = std::remove_cvref_t<decltype(value)>;
    constexpr std::uint64_t kMost = std::numeric_limits<T>::max();
    value = static_cast<T>(std::min({next(), most_, kMost}));
  }
  void fill(double& value) { value = static_cast<double>(next()) + 0.5; }
  void fill(std::string& value) { value = "text " + std::to_string(next()); }
  void fill(Bytes& value) { value = mib(next()); }
  void fill(Duration& value) { value = seconds(static_cast<std::int64_t>(next())); }
  void fill(Instant& value) { value.ns = static_cast<std::int64_t>(next()); }
  void fill(UnixMs& value) { value.value = 1'770'470'100'000 + static_cast<std::int64_t>(next()); }
  void fill(LeaseId& value) { value.value = next(); }
  void fill(UserId& value) { value.value = 1'000 + static_cast<std::uint32_t>(next()); }
  void fill(Handle& value) { value = {.high = next(), .low = next()}; }
  void fill(DeviceId& value) { value = {.high = next(), .low = next(), .mig = next() % 2 == 0}; }
  void fill(HasWords auto& value) {
    value = kWordsOf<std::remove_cvref_t<decltype(value)>>.back().value;
  }
  void fill(std::variant<std::uint32_t, DeviceId>& value) { fill(value.emplace<DeviceId>()); }
  void fill(std::map<std::string, std::string>& value) { fill(value["key"]); }
  template <class T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
  template <class T>
  void fill(std::vector<T>& value) {
    fill(value.emplace_back());
    fill(value.emplace_back());
  }

  std::uint64_t next() { return ++last_; }

  std::uint64_t last_ = 0;
  std::uint64_t most_ = 0;  // That the field which is being filled may be.
};

template <HasFields T>
T full_sample() {
  T sample;
  SampleMaker().fill(sample);
  return sample;
}

}  // namespace berth
