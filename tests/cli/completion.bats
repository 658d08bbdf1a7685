#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Completion in a real bash: what stands on the line after TAB TAB.
load lib

# completed LINE: the words that bash offers after it.
completed() {
  bash --norc -c '
    source <(berth completion bash)
    COMP_LINE=$1 COMP_POINT=${#1}
    read -ra COMP_WORDS <<<"$1"
    [[ $1 == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    compopt() { :; }
    _berth && printf "%s\n" "${COMPREPLY[@]}"' _ "$1"
}

@test "verbs" {
  [[ $(completed "berth st") == status ]]
  [[ $(completed "berth re" | sort | xargs) == "recommend refuse release renew replay requeue reserve resize resume" ]]
  [[ $(completed "berth help wh") == why ]]
}

@test "options of the verb" {
  [[ $(completed "berth ps --wi") == --wide ]]
  [[ $(completed "berth ps --ki") == "" ]]
  [[ $(completed "berth release --ki") == --kill ]]
}

@test "values, with a blank and with an equals sign" {
  [[ $(completed "berth ps -o nd") == ndjson ]]
  [[ $(completed "berth ps --output=ts") == tsv ]]
  [[ $(completed "berth run --guard-mode au" | xargs) == "auto audit" ]]
  [[ $(completed "berth --color=al") == always ]]
  [[ $(completed "berth daemon st" | xargs) == "start stop status" ]]
}

@test "leases, by number and name, without starting a daemon" {
  [[ $(completed "berth show " | xargs) == "@last @mine @failed" ]]
  [[ $(berth version --json | jq .daemon) == null ]]
  berth run -m 1G -n train-gpt2 -- sleep 60 3>&- &
  eventually known
  [[ $(completed "berth show tra") == train-gpt2 ]]
  [[ $(completed "berth why 1 ") == *train-gpt2* ]]
}
known() { [[ $(completed "berth show 1") == 1 ]]; }

# A name is completed where it is plain, as it would else be code, an option, or a word of the script.
@test "names of leases never become code" {
  for name in 'bench;id>${HOME}/OWNED #' '--yes' ':files' ':command' 'be$(touch OWNED)' 'be~' "be'" \
    'bench v2'; do
    berth run -q -m 1G -n "$name" -- sleep 60 3>&- &
  done
  berth run -q -m 1G -n bench/v1.2_a-b -- sleep 60 3>&- &
  eventually all_nine
  [[ $(completed "berth show be") == bench/v1.2_a-b ]]
  [[ $(completed "berth show :") == "" && $(completed "berth show --y") == "" ]]
  for word in $(completed "berth show "); do
    [[ $word =~ ^([1-9]|bench/v1.2_a-b|@[a-z]+)$ ]] || { echo "offered: $word"; return 1; }
  done
  [[ $(berth completion words -- show 1) == $'1\t'*', held' ]]
  cat >"$world/rc" <<'RC'
PS1='$ '
source <(berth completion bash)
RC
  run expect <<EXPECT
set timeout 10
spawn bash --rcfile $world/rc
expect "\\$ "
send "berth show be\t\r"
expect "bench/v1.2_a-b"
expect "\\$ "
send "exit\r"
expect eof
EXPECT
  status_is 0
  [[ ! -e OWNED ]]
}
all_nine() { (($(berth ps -q 2>/dev/null | wc -l) == 9)); }

@test "a tabulator runs nothing of the directory" {
  printf '#!/bin/sh\ntouch "%s/ran"\n' "$world" >berth
  chmod +x berth
  [[ $(completed "./berth st") == status ]]
  [[ $(completed "berth st") == status ]]
  [[ ! -e $world/ran ]]
}

@test "in an interactive zsh" {
  type -P zsh >/dev/null || skip "zsh is not installed"
  berth run -q -m 1G -n 'bench;touch OWNED #' -- sleep 60 3>&- &
  berth run -q -m 1G -n train-a -- sleep 60 3>&- &
  eventually both
  touch settings.toml
  cat >"$world/home/.zshrc" <<'RC'
PS1='> '
autoload -Uz compinit && compinit -D -u
source <(berth completion zsh)
RC
  run expect <<'EXPECT'
set timeout 10
proc completes {typed wanted} {
  send "$typed\t"
  expect $wanted {} timeout { puts "not completed: $typed"; exit 1 }
  send "\x15"
}
spawn zsh -i
expect "> "
completes "berth daem" "daemon"
completes "berth show tr" "train-a"
completes "berth config check sett" "toml"
completes "berth run -m 8G -- vram_us" "er"
send "berth show ben\t\r"
expect "> "
send "exit\r"
expect eof
EXPECT
  status_is 0
  [[ ! -e OWNED ]]
}
both() { (($(berth ps -q 2>/dev/null | wc -l) == 2)); }

@test "in fish" {
  type -P fish >/dev/null || skip "fish is not installed"
  berth run -q -m 1G -n 'bench;touch OWNED #' -- sleep 60 3>&- &
  berth run -q -m 1G -n train-a -- sleep 60 3>&- &
  eventually both
  touch settings.toml
  fish_offers() { fish --no-config -c 'berth completion fish | source; complete -C $argv[1]' "$1" | cut -f 1; }
  [[ $(fish_offers "berth daem") == daemon ]]
  [[ $(fish_offers "berth show tr") == train-a ]]
  [[ $(fish_offers "berth show be") == "" ]]
  [[ $(fish_offers "berth config check sett") == settings.toml ]]
  [[ $(fish_offers "berth run -m 8G -- vram_us") == vram_user ]]
}

@test "files, and the command of run" {
  touch settings.toml
  [[ $(completed "berth config check sett") == settings.toml ]]
  [[ $(completed "berth run -m 8G -- vram_us") == vram_user ]]
  [[ $(completed "berth run -m 8G vram_us") == vram_user ]]
}

@test "in an interactive bash, by the tabulator" {
  cat >"$world/rc" <<'RC'
PS1='$ '
bind 'set show-all-if-ambiguous on'
source <(berth completion bash)
RC
  run expect <<EXPECT
set timeout 10
spawn bash --rcfile $world/rc
expect "\\$ "
send "berth daem\t"
expect "berth daemon "
send "sta\t"
expect "status"
EXPECT
  status_is 0
  contains "status"
}

@test "the scripts of all shells are there" {
  for shell in bash zsh fish; do
    run berth completion "$shell"
    status_is 0
    contains "berth completion $shell"
  done
  bash -n <(berth completion bash)
  run berth completion tcsh
  status_is 64
}
