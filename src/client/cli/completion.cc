// SPDX-License-Identifier: Apache-2.0
// `berth completion`: the scripts for the shells. They are a few lines each and know nothing: what
// could stand at the cursor they ask `berth completion words`, which cli/candidates.h answers.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/candidates.h"
#include "cli/daemon_session.h"
#include "cli/render/text.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

// Bash splits words at `=` and `:` too, so the line is split at blanks here, and what stands before
// a `=` is cut off again. The program asked is that of PATH, whatever the line begins with: the
// scripts are bound to every path that ends in `berth`, and a TAB must not run what lies there.
constexpr std::string_view kBash =
    R"bash(# bash completion for berth; made by: berth completion bash
_berth() {
  local line=${COMP_LINE:0:COMP_POINT} program word begin
  local -a words
  program=$(type -P berth) || return 0
  read -ra words <<<"$line"
  [[ $line == *[[:blank:]] ]] && words+=('')
  local current=${words[-1]}
  COMPREPLY=()
  while IFS= read -r word; do
    case $word in
      $'\t:files') compopt -o filenames && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY \
          < <(compgen -f -- "${current##*=}") ;;
      $'\t:command '*)
        begin=${word##* }
        if ((begin + 1 >= ${#words[@]} - 1)); then
          # Files are among them, whose names are chosen by others: bash quotes them then.
          compopt -o filenames
          mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$current")
        elif declare -F _command_offset >/dev/null; then
          _command_offset "$((begin + 1))"
        else
          compopt -o default
        fi ;;
      *) word=${word%%$'\t'*}
         [[ $current == *=* ]] && word=${word#*=}
         COMPREPLY+=("$word") ;;
    esac
  done < <("$program" completion words -- "${words[@]:1}" 2>/dev/null)
}
complete -F _berth berth
)bash";

constexpr std::string_view kZsh = R"zsh(#compdef berth
# zsh completion for berth; made by: berth completion zsh
_berth() {
  local program word begin
  local -a found
  program=$(whence -p berth) || return 1
  while IFS= read -r word; do
    case $word in
      $'\t:files') _files ;;
      $'\t:command '*) begin=${word##* }
                shift $((begin + 1)) words
                ((CURRENT -= begin + 1))
                _normal ;;
      *) found+=("${${word%%$'\t'*}//:/\\:}:${word#*$'\t'}") ;;
    esac
  done < <("$program" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe -V berth found
}
if [[ $funcstack[1] == _berth ]]; then _berth "$@"; else compdef _berth berth; fi
)zsh";

constexpr std::string_view kFish =
    R"fish(# fish completion for berth; made by: berth completion fish
function __berth_complete
    set -l program (command -s berth)
    or return
    set -l words (commandline -opc) (commandline -ct)
    set -e words[1]
    for line in ($program completion words -- $words 2>/dev/null)
        switch $line
            case \t':files'
                __fish_complete_path (commandline -ct)
            case \t':command*'
                __fish_complete_subcommand --fcs-skip=(math (string split ' ' $line)[2] + 1)
            case '*'
                echo $line
        end
    end
end
complete -c berth -f -a '(__berth_complete)'
)fish";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kScripts = {
    {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};

// A line a candidate: the word, a tab, its meaning. What is meant for the script itself begins with
// a tab, as no word can.
std::string lines_of(const Candidates& candidates) {
  std::string text;
  for (const Candidate& candidate : candidates.words) {
    text.append(candidate.word).append("\t").append(candidate.meaning).append("\n");
  }
  if (candidates.files) text += "\t:files\n";
  if (candidates.command_begin) {
    text += "\t:command " + std::to_string(*candidates.command_begin) + "\n";
  }
  return text;
}

std::string listed(const std::string& first, const std::string& second) {
  return first + ", " + second;
}

// A shell inserts what it completes, and names are chosen by others: `x;rm` is a command, `--yes`
// an option. What is not plain is completed by its number.
bool is_plain(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._/-").find(c) != std::string_view::npos;
  });
}

// Those of all users that have not ended, by number and by name. None where no daemon runs.
std::vector<Candidate> live_leases(const Invocation& invocation) {
  DaemonSession session(invocation);
  if (session.find() != DaemonSession::Found::kDaemon) return {};
  const auto list = session.ask({.route = wire::Route::kLeases}, wire::decode_leases);
  if (!list) return {};
  std::vector<Candidate> leases;
  for (const LeaseView& lease : list->items) {
    const std::string state(to_text(lease.state));
    const std::string& name = lease.request.name;
    const std::string id = to_text(lease.id);
    const std::string shown = escape_control(name, {.unicode = invocation.terminal.unicode});
    leases.push_back({id, name.empty() ? state : listed(shown, state)});
    if (is_plain(name)) leases.push_back({name, listed(id, state)});
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
  invocation.options.operand("SHELL", store(shell), "for which shell",
                             {"bash", "zsh", "fish", "words"});
  invocation.options.command("[WORD]", words, "with words: the line to be completed");
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
