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
  [[ $(completed "berth re" | sort | xargs) == "recommend release renew requeue reserve resize resume" ]]
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
