// SPDX-License-Identifier: Apache-2.0
// `berth completion`: the scripts for the shells. They are a few lines each and know nothing: what
// could stand at the cursor they ask `berth completion words`, which cli/candidates.h answers.
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/candidates.h"
#include "cli/conversation.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

// Bash splits words at `=` and `:` too, so the line is split at blanks here, and what stands before
// a `=` is cut off again.
constexpr std::string_view kBash =
    R"bash(# bash completion for berth; made by: berth completion bash
_berth() {
  local line=${COMP_LINE:0:COMP_POINT} word meaning
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:blank:]] ]] && words+=('')
  local current=${words[-1]}
  COMPREPLY=()
  while IFS=$'\t' read -r word meaning; do
    case $word in
      :files) compopt -o filenames && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY \
          < <(compgen -f -- "${current##*=}") ;;
      :command)
        if ((meaning + 1 >= ${#words[@]} - 1)); then
          mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$current")
        elif declare -F _command_offset >/dev/null; then
          _command_offset "$((meaning + 1))"
        else
          compopt -o default
        fi ;;
      *) [[ $current == *=* ]] && word=${word#*=}
         COMPREPLY+=("$word") ;;
    esac
  done < <("${words[0]}" completion words -- "${words[@]:1}" 2>/dev/null)
}
complete -F _berth berth
)bash";

constexpr std::string_view kZsh = R"zsh(#compdef berth
# zsh completion for berth; made by: berth completion zsh
_berth() {
  local word meaning
  local -a found
  while IFS=$'\t' read -r word meaning; do
    case $word in
      :files) _files ;;
      :command) shift $((meaning + 1)) words
                ((CURRENT -= meaning + 1))
                _normal ;;
      *) found+=("${word//:/\\:}:$meaning") ;;
    esac
  done < <("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe -V berth found
}
if [[ $funcstack[1] == _berth ]]; then _berth "$@"; else compdef _berth berth; fi
)zsh";

constexpr std::string_view kFish =
    R"fish(# fish completion for berth; made by: berth completion fish
function __berth_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program completion words -- $words 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':command*'
                __fish_complete_subcommand --fcs-skip=(math (string split \t $line)[2] + 1)
            case '*'
                echo $line
        end
    end
end
complete -c berth -f -a '(__berth_complete)'
)fish";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kScripts = {
    {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};

// A line a candidate: the word, a tab, its meaning.
std::string lines_of(const Candidates& candidates) {
  std::string text;
  for (const Candidate& candidate : candidates.words) {
    text.append(candidate.word).append("\t").append(candidate.meaning).append("\n");
  }
  if (candidates.files) text += ":files\t\n";
  if (candidates.command_begin) {
    text += ":command\t" + std::to_string(*candidates.command_begin) + "\n";
  }
  return text;
}

std::string listed(const std::string& first, const std::string& second) {
  return first + ", " + second;
}

// Those of all users that have not ended, by number and by name. None where no daemon runs.
std::vector<Candidate> live_leases(const Invocation& invocation) {
  Conversation conversation(invocation);
  if (conversation.find() != Conversation::Found::kDaemon) return {};
  const auto body = conversation.ask({.route = wire::Route::kLeases});
  if (!body) return {};
  const auto list = conversation.understood(wire::decode_leases(*body));
  if (!list) return {};
  std::vector<Candidate> leases;
  for (const LeaseView& lease : list->items) {
    const std::string state(to_text(lease.state));
    const std::string& name = lease.request.name;
    const std::string id = std::to_string(lease.id.value);
    leases.push_back({id, name.empty() ? state : listed(name, state)});
    if (!name.empty()) leases.push_back({name, listed(id, state)});
  }
  return leases;
}

}  // namespace

int run_completion(Invocation& invocation) {
  std::string shell;
  std::vector<std::string> words;
  invocation.about =
      "Prints a script that completes verbs, options and leases. To have it in each new shell:\n"
      "  bash  berth completion bash > ~/.local/share/bash-completion/completions/berth\n"
      "  zsh   berth completion zsh > ~/.zfunc/_berth   (a directory of fpath)\n"
      "  fish  berth completion fish > ~/.config/fish/completions/berth.fish\n"
      "The scripts call `berth completion words`, so they stay right when Berth is updated.";
  invocation.options.operand({.metavar = "SHELL",
                              .help = "for which shell",
                              .at_least = 1,
                              .choices = {"bash", "zsh", "fish", "words"}},
                             into(shell));
  invocation.options.command({.metavar = "WORD", .help = "with words: the line to be completed"},
                             words);
  if (const auto end = invocation.parse()) return *end;
  for (const auto& [name, script] : kScripts) {
    if (name == shell) print(script);
  }
  if (shell == "words") {
    print(lines_of(find_candidates(words, [&] { return live_leases(invocation); })));
  }
  return to_status(ExitCode::kOk);
}

}  // namespace berth::cli
