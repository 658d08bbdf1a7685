#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `setup`: coding agents are told of Berth in their own settings, and that is taken back.
load lib

@test "claude gets the server, the hooks and a page, and none of it is left after --remove" {
  mkdir -p .claude
  printf '{\n  // mine\n  "theme": "dark"\n}\n' >.claude/settings.json
  cp .claude/settings.json before
  run berth setup claude
  status_is 0
  contains "$HOME/.claude/settings.json: hooks"
  [[ $(jq -r .mcpServers.berth.command .claude.json) == "$(type -P berth)" ]]
  [[ $(jq -c .mcpServers.berth.args .claude.json) == '["mcp"]' ]]
  grep -q '// mine' .claude/settings.json
  grep -q "berth hook pre-tool-use" .claude/settings.json
  grep -q "^name: berth$" .claude/skills/berth/SKILL.md
  cmp before .claude/settings.json.before-berth
  run berth setup claude
  status_is 0
  contains "nothing is to be changed"
  berth setup claude --remove
  cmp before .claude/settings.json
  [[ ! -e .claude.json && ! -e .claude/skills/berth/SKILL.md ]]
}

@test "what was changed since then stays when it is taken back" {
  berth setup cursor
  jq '.mcpServers.other = {command: "x"}' .cursor/mcp.json >new && mv new .cursor/mcp.json
  berth setup cursor --remove
  [[ $(jq -c .mcpServers .cursor/mcp.json) == '{"other":{"command":"x"}}' ]]
}

@test "codex and vscode have files of their own" {
  berth setup codex
  grep -qx '\[mcp_servers.berth\]' .codex/config.toml
  grep -qx 'args = \["mcp"\]' .codex/config.toml
  berth setup vscode
  [[ $(jq -r .servers.berth.type "$XDG_CONFIG_HOME/Code/User/mcp.json") == stdio ]]
}

@test "--dry-run shows what would be changed, and changes nothing" {
  run berth setup cursor --dry-run
  status_is 0
  contains "$HOME/.cursor/mcp.json (the MCP server)"
  contains '"args": ["mcp"]'
  [[ ! -e .cursor ]]
}

@test "settings that are broken, or that others can write to, are named and left alone" {
  mkdir .cursor .codex
  printf '{\n  "a" 1\n}\n' >.cursor/mcp.json
  run berth setup cursor
  status_is 64
  contains "$HOME/.cursor/mcp.json: line 2: no colon behind a name"
  [[ $(<.cursor/mcp.json) == $'{\n  "a" 1\n}' ]]
  echo 'a = = 1' >.codex/config.toml
  run berth setup codex
  status_is 64
  contains "$HOME/.codex/config.toml: line 1"
  echo '{}' >.cursor/mcp.json
  chmod 0666 .cursor/mcp.json
  run berth setup cursor
  [[ $status != 0 ]]
  contains "mcp.json"
  [[ $(<.cursor/mcp.json) == '{}' ]]
}

# at_terminal ANSWER COMMAND...: with a terminal for its input, at which that is typed.
at_terminal() {
  local answer=$1
  shift
  run expect -c "set timeout 20; spawn $*; expect {N\\] }; send $answer\\r; expect eof
    catch wait result; exit [lindex \$result 3]"
}

@test "--allow-run is written only if a person at a terminal agrees" {
  run berth setup cursor --allow-run </dev/null
  status_is 64
  contains "--allow-run asks, and stdin is no terminal"
  at_terminal n berth setup cursor --allow-run
  status_is 1
  contains "outside of its sandbox"
  contains "nothing was changed"
  [[ ! -e .cursor/mcp.json ]]
  at_terminal y berth setup cursor --allow-run
  status_is 0
  [[ $(jq -c .mcpServers.berth.args .cursor/mcp.json) == '["mcp","--allow-run"]' ]]
  berth setup cursor
  [[ $(jq -c .mcpServers.berth.args .cursor/mcp.json) == '["mcp"]' ]]
  at_terminal y berth setup codex --allow-run
  grep -qx 'args = \["mcp", "--allow-run"\]' .codex/config.toml
  berth setup codex --remove
  [[ ! -e .codex/config.toml ]]
}

@test "a link is followed to the settings that it names, and stays one" {
  mkdir .cursor dotfiles
  echo '{}' >dotfiles/mcp.json
  ln -s ../dotfiles/mcp.json .cursor/mcp.json
  berth setup cursor
  [[ -L .cursor/mcp.json ]]
  jq -e .mcpServers.berth dotfiles/mcp.json
  ln -sf ../nowhere .cursor/mcp.json
  run berth setup cursor
  status_is 64
  contains "is a link to what is not there"
}

@test "two at once add it once" {
  local -a pids=()
  for _ in 1 2 3 4; do
    berth setup cursor 3>&- &
    pids+=($!)
  done
  wait "${pids[@]}"
  [[ $(grep -c '"berth"' .cursor/mcp.json) == 1 ]]
}

# hook EVENT JSON
hook() { berth hook "$1" <<<"$2"; }

@test "a GPU command without a lease is answered with the line that has one" {
  run hook pre-tool-use '{"session_id":"abc","tool_name":"Bash","tool_input":{"command":"python train.py"}}'
  status_is 0
  [[ $(jq -r .hookSpecificOutput.permissionDecision <<<"$output") == deny ]]
  contains "Run instead: berth run -m auto -- python train.py"
  run hook pre-tool-use '{"session_id":"abc","tool_name":"Bash","tool_input":{"command":"ls"}}'
  status_is 0
  [[ -z $output ]]
  [[ ! -e $BERTH_RUNTIME_DIR/berthd.sock ]] # No daemon was started for that.
  run hook pre-tool-use 'nonsense'
  status_is 64
}

@test "a shell that knows nothing is led to the lease, works in it, and leaves nothing held" {
  export CLAUDE_ENV_FILE=$world/variables
  hook session-start '{"session_id":"abc"}' >"$world/start"
  jq -e .hookSpecificOutput.additionalContext "$world/start"
  source "$CLAUDE_ENV_FILE"
  [[ $BERTH_SESSION == claude-abc ]]
  berth reserve 30m --while-used -q -m 4G
  run hook pre-tool-use '{"session_id":"abc","tool_name":"Bash","tool_input":{"command":"python3 -c 1"}}'
  contains "berth run --lease 1 -- python3 -c 1"
  for step in 1 2 3; do
    bash -c "berth run -q --lease 1 -- python3 -c 'print($step)'"
  done
  hook stop '{"session_id":"other"}'
  state_is 1 held
  hook stop '{"session_id":"abc"}'
  eventually state_is 1 ended
}
