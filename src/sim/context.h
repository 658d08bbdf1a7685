// SPDX-License-Identifier: Apache-2.0
// Common ground of every part of a simulated world: its chance, its time, what it noted and what it
// reached; and the first broken rule, which ends it.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "sim/clock.h"
#include "sim/coverage.h"
#include "sim/random.h"

namespace berth::sim {

/// Any sequence of numbers and texts as one number.
class Fingerprint {
 public:
  void mix(std::string_view text);
  template <std::integral Number>
  void mix(Number number) {
    value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15U;
    value_ ^= value_ >> 29U;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// What happened, as one number; and as text where it is printed. Two runs of a seed have noted
/// the same.
class Trace {
 public:
  explicit Trace(bool printed) : printed_(printed) {}

  template <class... Arguments>
  void note(const Clock& clock, fmt::format_string<Arguments...> format,
            const Arguments&... arguments) {
    const fmt::string_view text = format;
    hash_.mix(std::string_view(text.data(), text.size()));
    hash_.mix(static_cast<std::uint64_t>(clock.elapsed().ns));
    (hash_.mix(arguments), ...);
    if (printed_) print(clock, fmt::vformat(text, fmt::make_format_args(arguments...)));
  }
  std::uint64_t hash() const { return hash_.value(); }

 private:
  static void print(const Clock& clock, const std::string& line);

  bool printed_;
  Fingerprint hash_;
};

class SimContext {
 public:
  SimContext(std::uint64_t seed, bool printed) : random(seed), trace_(printed) {}

  Random random;
  Clock clock;
  Coverage coverage;

  template <class... Arguments>
  void note(fmt::format_string<Arguments...> format, const Arguments&... arguments) {
    trace_.note(clock, format, arguments...);
  }
  void record_fault(Fault fault) {
    coverage.dealt(fault);
    note("fault: {}", to_text(fault));
  }
  /// A rule is broken. The first one counts.
  void fail(std::string rule) {
    note("broken: {}", rule);
    if (broken_.empty()) broken_ = std::move(rule);
  }
  bool failed() const { return !broken_.empty(); }
  const std::string& broken() const { return broken_; }
  std::uint64_t trace_hash() const { return trace_.hash(); }
  /// What was written to the disk, in the words of the journal.
  void wrote(std::string_view record) { journal_.mix(record); }
  std::uint64_t journal_hash() const { return journal_.value(); }

 private:
  Trace trace_;
  Fingerprint journal_;
  std::string broken_;
};

}  // namespace berth::sim
