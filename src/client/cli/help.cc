// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>

#include "cli/render/text.h"

namespace berth::cli {
namespace {

constexpr std::size_t kHelpIndent = 2;
constexpr std::size_t kColumnMax = 26;  // Longer names get a line of their own.

std::string left_of(const Option& option) {
  std::string text;
  if (const auto letter = option.letter()) {
    text = {'-', *letter};
    if (!option.long_name().empty()) text += ", ";
  } else {
    text = "    ";
  }
  if (!option.long_name().empty()) text += "--" + std::string(option.long_name());
  const char before = option.long_name().empty() ? ' ' : '=';
  if (option.value == Option::Value::kNeeded) text += before + std::string(option.metavar);
  if (option.value == Option::Value::kOptional) text += "[=" + std::string(option.metavar) + "]";
  return text;
}

// A row of two columns; the right one is wrapped below itself.
std::string row(std::string_view left, std::string_view right, std::size_t column,
                std::size_t width) {
  std::string text(kHelpIndent, ' ');
  text += left;
  const std::size_t start = kHelpIndent + column + 2;
  std::string body = wrapped(right, start, width);
  if (left.size() <= column) {
    body.erase(0, std::min(body.size(), text.size()));
  } else {
    text += '\n';
  }
  return text + body;
}

std::string with_choices(std::string_view help, std::span<const std::string_view> choices) {
  std::string text(help);
  for (const std::string_view choice : choices) {
    text += choice == choices.front() ? ": " : choice == choices.back() ? " or " : ", ";
    text += choice;
  }
  return text;
}

std::string usage(const Invocation& invocation) {
  std::string text = "Usage: berth " + std::string(invocation.verb.name) + " [OPTIONS]";
  bool after_many = false;  // Which take all words up to it.
  for (const Operand& operand : invocation.options.operands()) {
    std::string name(operand.metavar);
    if (operand.is_command) name.insert(0, after_many ? "-- " : "[--] ");
    after_many |= operand.may_be_many;
    if (operand.may_be_many || operand.is_command) name += "...";
    text += operand.is_needed ? " " + name : " [" + name + "]";
  }
  return text + "\n";
}

std::string options_section(const Options& options, std::size_t width) {
  std::size_t column = 0;
  for (const Option& option : options.all()) {
    if (option.hidden()) continue;
    const std::size_t size = left_of(option).size();
    if (size <= kColumnMax) column = std::max(column, size);
  }
  for (const Operand& operand : options.operands()) {
    column = std::max(column, operand.metavar.size());
  }
  std::string text;
  for (const Operand& operand : options.operands()) {
    text += row(operand.metavar, with_choices(operand.help, operand.choices), column, width);
  }
  if (!options.operands().empty()) text += '\n';
  for (const Option& option : options.all()) {
    if (option.hidden()) continue;
    text += row(left_of(option), with_choices(option.help, option.choices), column, width);
  }
  return text;
}

}  // namespace

std::string overview(std::size_t width) {
  std::string text =
      "Berth shares the GPUs of this machine between sessions.\n\n"
      "Usage: berth [VERB] [OPTIONS]...     (berth alone: berth status)\n";
  std::size_t column = 0;
  for (const Verb& verb : verbs()) column = std::max(column, verb.name.size());
  std::string_view group;
  for (const Verb& verb : verbs()) {
    if (verb.group != group) text += "\n" + std::string(verb.group) + "\n";
    group = verb.group;
    text += row(verb.name, verb.summary, column, width);
  }
  text += "\nberth help VERB tells what one does; berth doctor looks for what is wrong.\n";
  return text;
}

std::string verb_help(const Invocation& invocation, std::size_t width) {
  std::string text = "berth " + std::string(invocation.verb.name) + ": " +
                     std::string(invocation.verb.summary) + "\n\n" + usage(invocation);
  if (!invocation.verb.alias.empty()) {
    text += "Short:  berth " + std::string(invocation.verb.alias) + "\n";
  }
  if (!invocation.about.empty()) text += "\n" + wrapped(invocation.about, 0, width);
  text += "\n" + options_section(invocation.options, width);
  if (!invocation.examples.empty()) text += "\nExamples\n";
  for (const Example& example : invocation.examples) {
    text += "  " + std::string(example.line) + "\n";
    text += wrapped(example.meaning, 6, width);
  }
  return text;
}

}  // namespace berth::cli
