// SPDX-License-Identifier: Apache-2.0
// Options and operands of a verb, declared as data: parsing, help text and completion are all made
// from the same declarations. Takes no decision of its own and prints nothing.
// Note [Grammar of options]: `--name=value`, `--name value`, `-n value`, `-nvalue`, letters of
// flags together (`-aw`); options and operands may be mixed; `--` ends the options. An optional
// value is taken with `=` only (`--wait=5m`), so that no option swallows a command. Where a command
// is expected, the first operand starts it, as with env and nice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"

namespace berth::cli {

/// In double quotes.
std::string quoted(std::string_view text);
/// What was typed is wrong: a sentence for whom typed it.
Error wrong(std::string message);

/// Takes one value (of a flag, or of an optional value left out: ""), or says what is wrong.
using Setter = std::function<Status(std::string_view)>;

Setter store(bool& flag);
Setter clear(bool& flag);
Setter store(std::string& text);
Setter store(std::optional<std::string>& text);
Setter store(std::vector<std::string>& list);  // One more each time.
Setter store(std::uint32_t& number);
Setter store(std::optional<std::uint32_t>& number);
Setter store(std::optional<Bytes>& size);         // More than none, with a unit.
Setter store(std::optional<Duration>& duration);  // 0 too: "do not wait".
Setter store(Duration& duration);                 // At least 1 ms, as the next.
Setter store_positive(std::optional<Duration>& duration);

using Choices = std::vector<std::string_view>;  // If not empty, the only values there are.

/// The word of an enumeration; of an option whose choices have no other words.
template <HasWords Enum>
Setter store(Enum& value) {
  return [&value](std::string_view word) -> Status {
    const std::optional<Enum> parsed = parse_word<Enum>(word);
    value = checked(parsed);
    return Unit{};
  };
}
template <HasWords Enum>
Setter store(std::optional<Enum>& value) {
  return [&value](std::string_view word) { return store(value.emplace())(word); };
}

struct Option {
  enum class Value : std::uint8_t { kNone, kNeeded, kOptional };

  std::string_view names = {};    // "-m,--vram" or "--kill"
  std::string_view metavar = {};  // "SIZE"; empty for a flag.
  std::string_view help = {};
  Value value = Value::kNone;
  Choices choices = {};
  Setter setter = {};

  std::string_view long_name() const;  // "vram", or empty.
  std::optional<char> letter() const;  // 'm'
  std::string_view shown() const;      // "--vram", or "-m" where that is all it has.
  /// Of another version: neither in help nor completed.
  bool hidden() const { return help.empty(); }
};

struct Operand {
  std::string_view metavar = {};  // "LEASE"
  std::string_view help = {};
  bool is_needed = false;
  bool may_be_many = false;
  bool is_command = false;  // Takes all that follows, options included.
  Choices choices = {};
  Setter setter = {};
};

class Options {
 public:
  /// `form` is as help shows it: "-m,--vram=SIZE", "--watch[=DUR]" where the value may be left out,
  /// "--kill" of a flag.
  void add(std::string_view form, Setter setter, std::string_view help, Choices choices = {});
  void add(Option option) { options_.push_back(std::move(option)); }
  /// Likewise: "LEASE", "LEASE..." of one or more, "[LEASE]" and "[LEASE...]" where none will do.
  void operand(std::string_view form, Setter setter, std::string_view help, Choices choices = {});
  /// `[--] COMMAND…`. After `--` comes the command, also where operands that may be absent stand
  /// before it.
  void command(std::string_view form, std::vector<std::string>& words, std::string_view help);

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
