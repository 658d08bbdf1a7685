// SPDX-License-Identifier: Apache-2.0
// Options and operands of a verb, declared as data: parsing, help text and completion are all made
// from the same declarations. Takes no decision of its own and prints nothing.
// Note [Grammar of options]: `--name=value`, `--name value`, `-n value`, `-nvalue`, letters of
// flags together (`-aw`); options and operands may be mixed; `--` ends the options. An optional
// value is taken with `=` only (`--wait=5m`), so that no option swallows a command. Where a command
// is expected, the first operand starts it, as with env and nice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace berth::cli {

/// What was typed is wrong: a sentence for whom typed it.
Error wrong(std::string message);

/// Takes one value (of a flag, or of an optional value left out: ""), or says what is wrong.
using Setter = std::function<Status(std::string_view)>;

Setter store(bool& flag);
Setter store(std::string& text);
Setter store(std::optional<std::string>& text);
Setter store(std::vector<std::string>& list);  // One more each time.
Setter store(std::optional<std::uint32_t>& number);
Setter store(std::optional<Bytes>& size);                  // More than none, with a unit.
Setter store(std::optional<Duration>& duration);           // 0 too: "do not wait".
Setter store_positive(std::optional<Duration>& duration);  // At least 1 ms.

struct Option {
  enum class Value : std::uint8_t { kNone, kNeeded, kOptional };

  std::string_view names = {};    // "-m,--vram" or "--kill"
  std::string_view metavar = {};  // "SIZE"; empty for a flag.
  std::string_view help = {};
  Value value = Value::kNone;                  // Set by the function that declares it.
  std::vector<std::string_view> choices = {};  // If not empty, the only values there are.
  Setter setter = {};                          // Likewise.
  bool hidden = false;                         // Neither in help nor completed: of another version.

  std::string_view long_name() const;  // "vram", or empty.
  std::optional<char> letter() const;  // 'm'
  std::string_view shown() const;      // "--vram", or "-m" where that is all it has.
};

struct Operand {
  std::string_view metavar = {};  // "LEASE"
  std::string_view help = {};
  std::size_t at_least = 0;
  std::size_t at_most = 1;
  bool is_command = false;  // Takes all that follows, options included.
  std::vector<std::string_view> choices = {};
  Setter setter = {};
};

class Options {
 public:
  static constexpr std::size_t kMany = static_cast<std::size_t>(-1);

  void flag(Option option, Setter setter);
  void value(Option option, Setter setter);
  void optional_value(Option option, Setter setter);
  void operand(Operand operand, Setter setter);
  /// `[--] COMMAND…`; the command may be absent only if `at_least` is 0. After `--` comes the
  /// command, also where operands that may be absent stand before it.
  void command(Operand operand, std::vector<std::string>& words);

  /// Hands each value to its taker, in the order of the command line. An error is a sentence about
  /// the first thing that is wrong, with the nearest known option where there is one.
  Status parse(const std::vector<std::string>& arguments) const;

  const std::vector<Option>& all() const { return options_; }
  const std::vector<Operand>& operands() const { return operands_; }

 private:
  friend class Parse;

  std::vector<Option> options_;
  std::vector<Operand> operands_;
};

}  // namespace berth::cli
