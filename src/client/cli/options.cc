// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/bare_size.h"
#include "base/check.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/quantity.h"

namespace berth::cli {
namespace {

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

Status check_choice(std::string_view value, std::span<const std::string_view> choices) {
  if (choices.empty()) return Unit{};
  for (const std::string_view choice : choices) {
    if (choice == value) return Unit{};
  }
  std::string message = quoted(value) + " is not one of " + listed(choices);
  if (auto meant = nearest(value, choices)) message += "; did you mean " + quoted(*meant) + "?";
  return wrong(message);
}

// What other programs call what we have.
std::string_view known_elsewhere(std::string_view option) {
  for (const std::string_view name : {"--memory", "--mem", "--gpu-memory", "--gpu-mem", "--size"}) {
    if (option == name) return "--vram";
  }
  for (const std::string_view name : {"--gpu", "--device", "--devices"}) {
    if (option == name) return "--gpus";
  }
  return option == "--timeout" || option == "--time" ? "--limit" : "";
}

}  // namespace

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

Error wrong(std::string message) {
  return {Errc::kInvalid, std::move(message)};
}

Setter store(bool& flag) {
  return [&flag](std::string_view) -> Status {
    flag = true;
    return Unit{};
  };
}

Setter clear(bool& flag) {
  return [&flag](std::string_view) -> Status {
    flag = false;
    return Unit{};
  };
}

Setter store(std::string& text) {
  return [&text](std::string_view value) -> Status {
    text = value;
    return Unit{};
  };
}

Setter store(std::optional<std::string>& text) {
  return [&text](std::string_view value) -> Status {
    text = std::string(value);
    return Unit{};
  };
}

Setter store(std::vector<std::string>& list) {
  return [&list](std::string_view value) -> Status {
    list.emplace_back(value);
    return Unit{};
  };
}

Setter store(std::uint32_t& number) {
  return [&number](std::string_view value) -> Status {
    const std::optional<std::uint32_t> parsed = parse_number<std::uint32_t>(value);
    if (!parsed) return wrong(quoted(value) + " is not a whole number");
    number = *parsed;
    return Unit{};
  };
}

Setter store(std::optional<std::uint32_t>& number) {
  return [&number](std::string_view value) { return store(number.emplace())(value); };
}

Setter store(std::optional<Bytes>& size) {
  return [&size](std::string_view value) -> Status {
    TRY(read, parse_bytes(value));
    if (read == Bytes{}) return wrong("must be greater than 0");
    if (const auto meant = meant_by_bare_size(value)) {
      return wrong("a size needs a unit; did you mean " + *meant + "?");
    }
    size = read;
    return Unit{};
  };
}

Setter store(std::optional<Duration>& duration) {
  return [&duration](std::string_view value) -> Status {
    TRY(read, parse_duration(value));
    duration = read;
    return Unit{};
  };
}

Setter store_positive(std::optional<Duration>& duration) {
  return [&duration](std::string_view value) { return store(duration.emplace())(value); };
}

Setter store(Duration& duration) {
  return [&duration](std::string_view value) -> Status {
    TRY(read, parse_duration(value));
    if (read == Duration{}) return wrong("must be greater than 0");
    if (read < milliseconds(1)) return wrong("'" + std::string(value) + "' is below 1ms");
    duration = read;
    return Unit{};
  };
}

std::string_view Option::long_name() const {
  const auto at = names.find("--");
  return at == std::string_view::npos ? std::string_view() : names.substr(at + 2);
}

std::optional<char> Option::letter() const {
  if (names.size() < 2 || names[1] == '-') return std::nullopt;
  return names[1];
}

std::string_view Option::shown() const {
  const auto at = names.find("--");
  return at == std::string_view::npos ? names : names.substr(at);
}

void Options::add(std::string_view form, Setter setter, std::string_view help, Choices choices) {
  const auto equals = std::min(form.find('='), form.size());
  const bool is_optional = form.ends_with(']');
  Option option = {.names = form.substr(0, equals - (is_optional ? 1 : 0)),
                   .help = help,
                   .choices = std::move(choices),
                   .setter = std::move(setter)};
  if (equals != form.size()) {
    option.metavar = form.substr(equals + 1, form.size() - equals - (is_optional ? 2 : 1));
    option.value = is_optional ? Option::Value::kOptional : Option::Value::kNeeded;
  }
  CHECK(!is_optional || !option.long_name().empty());  // A letter alone has no place for `=`.
  add(std::move(option));
}

void Options::operand(std::string_view form, Setter setter, std::string_view help,
                      Choices choices) {
  const bool is_needed = !form.starts_with('[');
  if (!is_needed) form = form.substr(1, form.size() - 2);
  const bool may_be_many = form.ends_with("...");
  if (may_be_many) form.remove_suffix(3);
  operands_.push_back({.metavar = form,
                       .help = help,
                       .is_needed = is_needed,
                       .may_be_many = may_be_many,
                       .choices = std::move(choices),
                       .setter = std::move(setter)});
}

void Options::command(std::string_view form, std::vector<std::string>& words,
                      std::string_view help) {
  operand(form, store(words), help);
  operands_.back().is_command = true;
}

// One reading of a command line.
class Parse {
 public:
  Parse(const Options& options, const std::vector<std::string>& arguments)
      : options_(options), arguments_(arguments) {}

  Status all() {
    while (at_ < arguments_.size()) {
      const std::string& word = arguments_[at_++];
      if (word == "--") {
        go_to_command();
        while (at_ < arguments_.size()) TRY_STATUS(operand(arguments_[at_++]));
      } else if (word.starts_with("--")) {
        TRY_STATUS(long_option(std::string_view(word).substr(2)));
      } else if (word.size() > 1 && word[0] == '-') {
        TRY_STATUS(charset(word));
      } else {
        TRY_STATUS(operand(word));
      }
    }
    return all_given();
  }

 private:
  Status long_option(std::string_view text) {
    const auto equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const Option* option = nullptr;
    for (const Option& known : options_.options_) {
      if (!name.empty() && known.long_name() == name) option = &known;
    }
    if (option == nullptr) return unknown("--" + std::string(name));
    if (equals == std::string_view::npos) return without_equals(*option);
    if (option->value == Option::Value::kNone) {
      return wrong(std::string(option->shown()) + " takes no value");
    }
    return hand_over(*option, text.substr(equals + 1));
  }

  Status without_equals(const Option& option) {
    if (option.value == Option::Value::kOptional) TRY_STATUS(check_no_duration_follows(option));
    if (option.value != Option::Value::kNeeded) return option.setter("");
    if (at_ == arguments_.size()) return needs_value(option);
    return hand_over(option, arguments_[at_++]);
  }

  // `--wait 10m` would run a command named 10m.
  Status check_no_duration_follows(const Option& option) const {
    if (at_ == arguments_.size() || !option.metavar.starts_with("DUR")) return Unit{};
    const std::string& next = arguments_[at_];
    if (!parse_duration(next).ok()) return Unit{};
    const std::string name(option.shown());
    return wrong(name + " takes its value with an equals sign: " + name + "=" + next);
  }

  // `-aw`, `-m8G`, `-m 8G`.
  Status charset(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const Option* option = nullptr;
      for (const Option& known : options_.options_) {
        if (known.letter() == word[i]) option = &known;
      }
      if (option == nullptr) return unknown(std::string{'-', word[i]});
      if (option->value == Option::Value::kNeeded && i + 1 < word.size()) {
        return hand_over(*option, word.substr(i + 1));
      }
      TRY_STATUS(without_equals(*option));
    }
    return Unit{};
  }

  Status operand(std::string_view word) {
    if (which_ == options_.operands_.size()) {
      return wrong("unexpected " + quoted(word));
    }
    const Operand& operand = options_.operands_[which_];
    if (auto chosen = check_choice(word, operand.choices); !chosen.ok()) return chosen.error();
    if (auto taken = operand.setter(word); !taken.ok()) {
      return wrong(std::string(operand.metavar) + ": " + taken.error().message);
    }
    is_given_ = true;
    if (operand.is_command) {
      while (at_ < arguments_.size()) TRY_STATUS(operand.setter(arguments_[at_++]));
    } else if (!operand.may_be_many) {
      go_to(which_ + 1);
    }
    return Unit{};
  }

  // What follows `--` is the command, whatever may stand before it.
  void go_to_command() {
    for (std::size_t i = which_; i < options_.operands_.size(); ++i) {
      if (options_.operands_[i].is_command) return go_to(i);
    }
  }

  void go_to(std::size_t which) {
    if (which != which_) is_given_ = false;
    which_ = which;
  }

  Status all_given() const {
    for (std::size_t i = which_; i < options_.operands_.size(); ++i) {
      const Operand& operand = options_.operands_[i];
      if (!operand.is_needed || (i == which_ && is_given_)) continue;
      const std::string which = listed(operand.choices);
      return wrong("missing " + std::string(operand.metavar) +
                   (which.empty() ? " (" + std::string(operand.help) + ")" : ": " + which));
    }
    return Unit{};
  }

  Status hand_over(const Option& option, std::string_view value) {
    auto chosen = check_choice(value, option.choices);
    auto taken = chosen.ok() ? option.setter(value) : chosen;
    if (taken.ok()) return Unit{};
    return wrong(std::string(option.shown()) + ": " + taken.error().message);
  }

  static Status needs_value(const Option& option) {
    return wrong(std::string(option.shown()) + " needs a value: " + std::string(option.metavar));
  }

  Status unknown(const std::string& word) const {
    std::vector<std::string_view> names;
    names.reserve(options_.options_.size());
    for (const Option& known : options_.options_) {
      if (!known.hidden()) names.push_back(known.shown());
    }
    std::string message = "unknown option " + word;
    if (const auto known = known_elsewhere(word);
        std::ranges::count(names, known) > 0 && !known.empty()) {
      message += "; did you mean " + std::string(known) + "?";
    } else if (auto meant = nearest(word, names)) {
      message += "; did you mean " + std::string(*meant) + "?";
    }
    return wrong(message);
  }

  const Options& options_;
  const std::vector<std::string>& arguments_;
  std::size_t at_ = 0;     // The next argument.
  std::size_t which_ = 0;  // The operand that is being filled,
  bool is_given_ = false;  // and whether it has a word.
};

Status Options::parse(const std::vector<std::string>& arguments) const {
  return Parse(*this, arguments).all();
}

}  // namespace berth::cli
