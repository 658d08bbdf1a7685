// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/nearest.h"
#include "cli/exit_status.h"
#include "cli/help.h"
#include "cli/render/text.h"

namespace berth::cli {
namespace {

constexpr std::size_t kWidthWithoutTerminal = 80;
constexpr std::size_t kWidestText = 100;
constexpr int kNoDriver = 9;  // As nvidia-smi ends.

Setter into_colour(std::optional<ColourChoice>& choice) {
  return [&choice](std::string_view word) -> Status {
    choice = word == "never"  ? ColourChoice::kNever
             : word == "auto" ? ColourChoice::kAuto
                              : ColourChoice::kAlways;  // Also of --color alone.
    return Unit{};
  };
}

void declare_common(Options& options, CommonOptions& common) {
  options.add("--color[=WHEN]", into_colour(common.colour), "colour the output",
              texts_of<config::Color>());
  options.add("--no-autostart", clear(common.autostart), "do not start a daemon where none runs");
  options.add("-h,--help", store(common.help), "this text");
}

std::size_t text_width(const Terminal& terminal) {
  return std::min(terminal.width.value_or(kWidthWithoutTerminal), kWidestText);
}

std::string sentence_of(const std::string& who, std::string_view sentence) {
  return who + ": " + std::string(sentence) + "\n";
}

// What others call what we have. Only what there is may stand on the right.
constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kOtherNames = {{
    {"kill", "cancel"},    {"rm", "cancel"},
    {"stop", "cancel"},    {"del", "cancel"},
    {"delete", "cancel"},  {"end", "cancel"},
    {"list", "ps"},        {"ls", "ps"},
    {"jobs", "ps"},        {"log", "logs"},
    {"follow", "logs -f"}, {"tail", "logs -f"},
    {"htop", "top"},       {"watch", "status --watch"},
    {"add", "submit"},     {"sub", "submit"},
    {"sbatch", "submit"},  {"squeue", "queue"},
    {"scancel", "cancel"}, {"exec", "run"},
    {"smi", "query"},      {"nvidia-smi", "query"},
}};

std::string_view meant_by(std::string_view word, std::span<const std::string_view> names) {
  for (const auto& [other, ours] : kOtherNames) {
    if (other == word) return ours;
  }
  return nearest(word, names).value_or("");
}

int unknown_verb(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs()) names.push_back(verb.name);
  std::string sentence = "unknown verb \"" + word + "\"";
  if (const std::string_view meant = meant_by(word, names); !meant.empty()) {
    sentence += "; did you mean \"" + std::string(meant) + "\"?";
  }
  complain(sentence_of("berth", sentence + " (berth --help lists them)"));
  return to_status(ExitCode::kUsage);
}

int run_verb(const Verb& verb, std::vector<std::string> arguments, CommonOptions common) {
  Invocation invocation{.verb = verb, .arguments = std::move(arguments), .common = common};
  return verb.run(invocation);
}

// `berth help`, `berth help VERB`.
int help(const std::vector<std::string>& arguments, const CommonOptions& common) {
  if (arguments.size() < 2) {
    print(overview(text_width(find_terminal(common.colour.value_or(ColourChoice::kNever)))));
    return to_status(ExitCode::kOk);
  }
  const Verb* verb = find_verb(arguments[1]);
  return verb == nullptr ? unknown_verb(arguments[1]) : run_verb(*verb, {"--help"}, common);
}

int dispatch(const std::vector<std::string>& arguments) {
  CommonOptions common;
  Options before_verb;
  declare_common(before_verb, common);
  std::size_t at = 0;
  while (at < arguments.size() && arguments[at].starts_with('-')) {
    const std::string& word = arguments[at];
    if (word == "--version" || word == "-V") return run_verb(*find_verb("version"), {}, common);
    // What is no common option is one of `status`, which stands for no verb at all.
    if (!before_verb.parse({word}).ok()) break;
    ++at;
  }
  const std::vector<std::string> rest(arguments.begin() + static_cast<std::ptrdiff_t>(at),
                                      arguments.end());
  if (common.help) return help({}, common);
  if (rest.empty() || rest[0].starts_with('-')) return run_verb(*find_verb("status"), rest, common);
  if (rest[0] == "help") return help(rest, common);
  const Verb* verb = find_verb(rest[0]);
  if (verb == nullptr) return unknown_verb(rest[0]);
  return run_verb(*verb, {rest.begin() + 1, rest.end()}, common);
}

}  // namespace

std::optional<int> Invocation::parse() {
  declare_common(options, common);
  if (describing) return to_status(ExitCode::kOk);
  const Status parsed = options.parse(arguments);
  terminal = find_terminal(common.colour.value_or(ColourChoice::kNever));
  if (common.help) {
    print(verb_help(*this, text_width(terminal)));
    return to_status(ExitCode::kOk);
  }
  if (!parsed.ok()) return usage_error(parsed.error().message);
  return std::nullopt;
}

int Invocation::usage_error(std::string_view sentence) const {
  complain(sentence_of("berth " + std::string(verb.name), sentence));
  print_error(wire::error_of(wire::code::kUsage, std::string(sentence)));
  return to_status(ExitCode::kUsage);
}

int Invocation::fail(const Error& error) const {
  return fail(exit_code(error.code), error.message);
}

int Invocation::fail(ExitCode code, std::string_view sentence) const {
  // Sentences of the daemon hold names that others chose.
  complain(sentence_of("berth", escape_control(sentence, {.unicode = terminal.unicode})));
  print_error(wire::error_of(wire::error_word(code), std::string(sentence)));
  return to_status(code);
}

int Invocation::fail(const wire::ApiError& error) const {
  complain(sentence_of("berth", escape_control(error.message, {.unicode = terminal.unicode})));
  print_error(error);
  return to_status(wire::exit_code(error.code));
}

void Invocation::print_error(const wire::ApiError& error) const {
  if (!is_for_programs) return;
  // An option that is wrong may stand before that.
  const bool says_json = std::ranges::find(arguments, "--json") != arguments.end();
  if (says_json || is_for_programs()) print(wire::encode_error(error) + "\n");
}

int run_berth(const std::vector<std::string>& arguments) {
  return flush_output(dispatch(arguments));
}

int run_as(std::string_view name, std::vector<std::string> arguments) {
  if (name.substr(name.rfind('/') + 1) != "nvidia-smi") return run_berth(arguments);
  if (environment_text("BERTH_SIM").empty()) {
    complain(
        "nvidia-smi: this is Berth's, of a simulated GPU (BERTH_SIM=1x16GiB); NVIDIA's is "
        "elsewhere in PATH\n");
    return kNoDriver;
  }
  arguments.insert(arguments.begin(), "query");
  return run_berth(arguments);
}

}  // namespace berth::cli
