# SPDX-License-Identifier: Apache-2.0
# Leases that run in turns on one simulated GPU, on real processes.
load lib

setup() {
  world_up
  mkdir -p "$XDG_CONFIG_HOME/berth"
  # Turns of three seconds, whatever they cost: a test has no minutes.
  printf '[policy]\nturn_min = "3s"\nturn_loss = "50%%"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
}

lease() { berth show "$1" --json; }
state_is() { [[ $(lease "$1" | jq -r .state) == "$2" ]]; }

# slice NAME BYTES TIME: its program writes a pattern, and checks it before it ends.
slice() {
  berth run -n "$1" --share slice -m 10G -- vram_user --bytes "$2" --hold "$3" --verify >"$1" \
    2>"$1.said" 3>&- &
}

@test "two that do not fit together take turns, and both find their memory as it was" {
  slice one 256MiB 12s
  local one=$!
  eventually grep -q holding one
  slice two 256MiB 12s
  local two=$!
  eventually grep -q holding two # While the first is away: together they may have 20 of 16 GiB.
  state_is one suspended
  lease one | jq -es 'length == 1 and .[0].share == "slice" and (.[0].flags | index("resuming"))'
  eventually state_is two suspended
  eventually state_is one held
  wait "$one" # 0: its pattern was there.
  wait "$two"
  [[ $(grep -c "lease 1 runs in turns" one.said) == 1 ]]
}

@test "why tells whose turn it is, and a running slice when its own ends" {
  slice one 256MiB 60s
  eventually grep -q holding one
  lease one | jq -es 'length == 1 and .[0].turn_ends == null'
  slice two 256MiB 60s
  eventually state_is one suspended
  eventually grep -q holding two
  run berth why one
  status_is 0
  contains "waits for its next turn on GPU 0"
  contains "Ahead of it: nobody"
  told() { lease two | jq -es 'length == 1 and (.[0].turn_ends | type) == "string"'; }
  eventually told
  berth why one --json | jq -es 'length == 1 and .[0].reason == "slices" and .[0].state == "suspended"'
}

@test "nothing is moved while all fit, and what has left makes room for who stays" {
  slice one 256MiB 60s
  eventually grep -q holding one
  berth run -n two --share slice -m 5G -- vram_user --bytes 256MiB --hold 3s --verify >two 2>&1 3>&- &
  local two=$!
  wait "$two"
  state_is one held
  ! grep -q "in turns" one.said
}

@test "turns go on when the daemon is killed in the middle of them" {
  slice one 256MiB 12s
  local one=$!
  eventually grep -q holding one
  slice two 256MiB 12s
  local two=$!
  eventually state_is one suspended
  kill -KILL "$(berth daemon status --json | jq -r .pid)"
  eventually state_is two suspended
  eventually state_is one held
  kill -KILL "$(berth daemon status --json | jq -r .pid)"
  patience=30 eventually state_is one ended
  patience=30 eventually state_is two ended
  wait "$one"
  wait "$two"
}

@test "a slice that is paused waits for no turn until it is resumed" {
  slice one 256MiB 60s
  eventually grep -q holding one
  slice two 256MiB 60s
  eventually grep -q holding two
  state_is one suspended
  run berth pause one
  status_is 0
  lease one | jq -es 'length == 1 and (.[0].flags | index("resuming") | not)'
  berth cancel two
  eventually state_is two ended
  state_is one suspended
  run berth resume one
  status_is 0
  state_is one held
}

@test "a driver that cannot move memory is named, and the slice refused" {
  export BERTH_SIM=1x16GiB,cuda=12.0
  run berth run --share slice -m 1G -- true
  status_is 64
  contains "run in turns"
}
