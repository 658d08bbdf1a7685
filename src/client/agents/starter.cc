// SPDX-License-Identifier: Apache-2.0
#include "agents/starter.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/letters.h"
#include "base/number.h"
#include "os/program_output.h"

namespace berth::agents {
namespace {

constexpr std::size_t kClientMax = 40;
constexpr std::size_t kSentenceMax = 400;
constexpr Duration kWithin = seconds(20);
constexpr std::array<std::string_view, 2> kOfTheAgent = {"CLAUDE", "ANTHROPIC_"};
// A submission has no input, and says on stderr what is wrong.
constexpr std::string_view kQuiet = R"(exec "$@" 2>&1 </dev/null)";

std::vector<std::string> variable_names() {
  std::vector<std::string> names;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

}  // namespace

std::vector<std::string> submit_words(const std::string& program, const RunArguments& arguments,
                                      std::string_view client,
                                      const std::vector<std::string>& variables) {
  std::vector<std::string> words = {"/usr/bin/env"};
  for (const std::string& name : variables) {
    if (std::ranges::any_of(kOfTheAgent, [&](auto begin) { return name.starts_with(begin); })) {
      words.insert(words.end(), {"-u", name});
    }
  }
  const std::string line = escape_control_line(client);
  const std::string_view name = whole_letters(line, kClientMax);
  words.insert(words.end(), {"/bin/sh", "-c", std::string(kQuiet), "sh", program, "submit", "-q",
                             "--name=" + std::string(name.empty() ? "agent" : name)});
  const RoomArguments& room = arguments.room;
  words.push_back(room.exclusive ? "--exclusive" : "--vram=" + room.memory);
  if (room.gpus > 1) words.push_back("--gpus=" + std::to_string(room.gpus));
  words.emplace_back("--");
  words.insert(words.end(), arguments.command.begin(), arguments.command.end());
  return words;
}

Result<LeaseId> Starter::submit(const RunArguments& arguments, std::string_view client,
                                const std::string& session) const {
  os::SpawnPlan plan{.words = submit_words(program_, arguments, client, variable_names()),
                     .variables = {{"BERTH_SESSION", session}}};
  TRY(output,
      os::output_of(std::move(plan), {.bytes_max = std::size_t{16} << 10U, .within = kWithin}));
  const bool is_good = WIFEXITED(output.status) && WEXITSTATUS(output.status) == 0;
  std::string_view last;
  std::string_view rest = output.text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const auto number = parse_number<std::uint64_t>(line);
    if (is_good && number) return LeaseId{*number};
    if (!line.empty()) last = line;
  }
  const std::string said = escape_control_line(last);
  return Error{Errc::kInvalid, std::string(whole_letters(said, kSentenceMax))};
}

}  // namespace berth::agents
