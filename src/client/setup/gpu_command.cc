// SPDX-License-Identifier: Apache-2.0
#include "setup/gpu_command.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/letters.h"

namespace berth::setup {
namespace {

constexpr std::array<std::string_view, 12> kPrograms = {
    "python", "ipython", "jupyter",      "torchrun",  "accelerate",   "deepspeed",
    "vllm",   "ollama",  "llama-server", "llama-cli", "trtllm-serve", "mpirun"};
// What starts the word behind it, after options of its own.
constexpr std::array<std::string_view, 9> kStarters = {"sudo",    "time", "nohup",  "env",   "exec",
                                                       "command", "nice", "stdbuf", "setsid"};
// Words that a shell reads before a command.
constexpr std::array<std::string_view, 9> kKeywords = {"if",    "then", "else", "elif", "while",
                                                       "until", "do",   "!",    "{"};
// Of Python's: what does not come near a GPU.
constexpr std::array<std::string_view, 3> kPythonQuestions = {"--version", "-V", "--help"};
constexpr std::array<std::string_view, 9> kPythonModules = {
    "pip", "venv", "http.server", "json.tool", "compileall", "ensurepip", "black", "ruff", "mypy"};

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// A word of the line as it stands there, and whether a command begins with it.
struct Word {
  std::size_t begin = 0;
  std::string_view text;
  bool begins = false;
};

// Quotes and backslashes keep a word together; separators and brackets begin a command.
std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  bool begins = true;
  std::size_t at = 0;
  while (at < line.size()) {
    const char c = line[at];
    if (c == ' ' || c == '\t') {
      ++at;
    } else if (std::string_view(";&|(\n`").find(c) != std::string_view::npos) {
      begins = true;
      ++at;
    } else if (c == ')') {
      begins = false;
      ++at;
    } else if (c == '#') {
      at = std::min(line.find('\n', at), line.size());
    } else {
      const std::size_t begin = at;
      char quote = 0;
      for (; at < line.size(); ++at) {
        const char now = line[at];
        if (now == '\\' && quote != '\'') {
          ++at;
        } else if (quote != 0) {
          if (now == quote) quote = 0;
        } else if (now == '\'' || now == '"') {
          quote = now;
        } else if (now == '(' && at > begin && line[at - 1] == '$') {
          break;  // $( begins a command.
        } else if (std::string_view(" \t;&|()\n`").find(now) != std::string_view::npos) {
          // A '&' of a redirection, as in 2>&1, ends nothing.
          if (now != '&' || at == begin || line[at - 1] != '>') break;
        }
      }
      at = std::min(at, line.size());
      words.push_back({begin, line.substr(begin, at - begin), begins});
      begins = false;
    }
  }
  return words;
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::ranges::all_of(word.substr(0, equals),
                             [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

std::string_view program_of(std::string_view word) {
  return word.substr(word.rfind('/') + 1);
}

// python3, python3.12
bool is_version_of(std::string_view program, std::string_view name) {
  if (!program.starts_with(name)) return false;
  return std::ranges::all_of(program.substr(name.size()),
                             [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

bool is_gpu_program(std::string_view program, std::span<const std::string_view> programs) {
  return std::ranges::any_of(
      programs, [program](std::string_view name) { return is_version_of(program, name); });
}

// `arguments` are those up to the next command.
bool is_harmless_python(std::string_view program, std::span<const Word> arguments) {
  if (!is_version_of(program, "python") || arguments.empty()) return false;
  const std::string_view first = arguments[0].text;
  if (is_among(first, kPythonQuestions)) return true;
  return first == "-m" && arguments.size() > 1 && is_among(arguments[1].text, kPythonModules);
}

}  // namespace

std::span<const std::string_view> default_gpu_programs() {
  return kPrograms;
}

std::optional<std::string> with_lease(std::string_view line,
                                      std::span<const std::string_view> programs,
                                      std::string_view prefix) {
  const std::vector<Word> words = words_of(line);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].begins) continue;
    std::size_t at = i;
    bool started = false;  // By a word whose options may follow.
    const auto goes_on = [&](std::string_view word) {
      if (is_assignment(word) || is_among(word, kKeywords)) return true;
      if (is_among(program_of(word), kStarters)) return started = true;
      return started && word.starts_with('-');
    };
    while (at < words.size() && (at == i || !words[at].begins) && goes_on(words[at].text)) ++at;
    if (at == words.size() || (at != i && words[at].begins)) continue;
    std::size_t end = at + 1;
    while (end < words.size() && !words[end].begins) ++end;
    const std::string_view program = program_of(words[at].text);
    const std::span<const Word> arguments(words.data() + at + 1, end - at - 1);
    if (is_gpu_program(program, programs) && !is_harmless_python(program, arguments)) {
      places.push_back(words[at].begin);
    }
  }
  if (places.empty()) return std::nullopt;
  std::string changed(line);
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    changed.insert(*place, std::string(prefix) + " ");
  }
  return changed;
}

}  // namespace berth::setup
