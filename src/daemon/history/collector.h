// SPDX-License-Identifier: Apache-2.0
// Gathers readings until they are written: a bucket for each second and subject, however often that
// was looked at. Bounded; what is beyond is left out and counted. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "model/history.h"

namespace berth::history {

class Collector {
 public:
  static constexpr std::size_t kSubjectsMax = 20'000;
  static constexpr std::size_t kSecondsMax = 120;  // Of one subject.

  void add(const Reading& reading, UnixMs at);

  /// The whole seconds before that moment. The one that it lies in may still be added to.
  std::vector<Series> take_before(UnixMs at);
  /// All, at the end.
  std::vector<Series> take_all();
  /// Readings that were left out because there was too much, since it was asked last.
  std::uint64_t take_left_out() { return std::exchange(left_out_, 0); }

 private:
  struct Second {
    std::int64_t at = 0;
    Bytes least;
    Bytes most;
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
  };
  struct Gathered {
    std::string name;
    UserId user;
    std::vector<Second> seconds = {};
  };
  static Bucket bucket_of(const Second& second);

  std::map<Subject, Gathered> gathered_;
  std::uint64_t left_out_ = 0;
};

}  // namespace berth::history
