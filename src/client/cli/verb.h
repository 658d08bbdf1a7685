// SPDX-License-Identifier: Apache-2.0
// A verb of the command line. One file a verb: cli/NAME.cc defines `int run_NAME(Invocation&)`,
// declared in verbs.h and listed in the table of verbs.cc. The function declares its options, calls
// parse(), and does its work:
//
//   int run_release(Invocation& invocation) {
//     std::vector<std::string> leases;
//     bool kill = false;
//     invocation.about = "Ends leases …";
//     invocation.options.add("--kill", store(kill), "…");
//     invocation.options.operand("LEASE...", store(leases), "…");
//     if (const auto end = invocation.parse()) return *end;
//     …
//   }
//
// Nothing but declarations may stand before parse(): help and completion call the function for them
// alone.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "wire/error.h"

namespace berth::cli {

struct Verb;

/// Options that each verb has, before it or after it.
struct CommonOptions {
  std::optional<ColourChoice> colour;  // Absent: as the settings say.
  bool autostart = true;               // Start a user daemon if none runs.
  bool help = false;
};

/// A line of the section EXAMPLES; those of docs/cli.md are executed by its test.
struct Example {
  std::string_view line;
  std::string_view meaning;
};

struct Invocation {
  const Verb& verb;
  std::vector<std::string> arguments = {};  // What follows the verb.
  CommonOptions common = {};
  bool describing = false;  // Only the declarations are wanted: parse() ends the verb at once.

  // Declared by the verb before parse().
  std::string_view about = {};  // Paragraphs for its help, after the summary.
  Options options = {};
  std::vector<Example> examples = {};

  /// Known once parse() has returned; without colour until the settings were read.
  Terminal terminal = {};
  /// Whether what is printed is for programs: then errors are, too. Nothing here: it never is.
  std::function<bool()> is_for_programs = {};

  /// Reads the arguments. A value is the exit status with which the verb must end at once: help was
  /// asked for and printed (0), or the arguments are wrong and it was said (64).
  std::optional<int> parse();

  /// Prints "berth VERB: sentence" on stderr and returns 64.
  int usage_error(std::string_view sentence) const;
  /// Prints "berth: sentence" on stderr and returns the status that belongs to the code.
  int fail(const Error& error) const;
  int fail(ExitCode code, std::string_view sentence) const;
  int fail(const wire::ApiError& error) const;
  /// Of what was said already: on stdout, if that is for programs.
  void print_error(const wire::ApiError& error) const;
};

struct Verb {
  std::string_view name;
  std::string_view alias;  // Empty: none.
  std::string_view group;  // Of the overview: "Daily", "See", "Control", "Machine", "Connect".
  std::string_view summary;
  int (*run)(Invocation&);
};

/// All verbs, in the order of the overview.
std::span<const Verb> verbs();
const Verb* find_verb(std::string_view name);

/// The whole program: `arguments` without the program's own name; returns the exit status.
int run_berth(const std::vector<std::string>& arguments);
/// The same of a program that was started by that name: as nvidia-smi it is `berth query`, of a
/// simulated GPU only.
int run_as(std::string_view name, std::vector<std::string> arguments);

}  // namespace berth::cli
