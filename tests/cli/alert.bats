# SPDX-License-Identifier: Apache-2.0
# Rules for alerts: added, told, over, taken away.
load lib

# follow: all news of the daemon goes to the file `news`.
follow() {
  curl -sN --unix-socket "$(berth daemon status --json | jq -r .socket)" http://localhost/v1/events \
    >news 3>&- &
  streams() { [[ $(berth daemon status --json | jq .counts.event_streams) -ge 1 ]]; }
  eventually streams
}
# alerts_of RULE: the data of its events, a line each.
alerts_of() { grep -A 3 '^event: alert' news | sed -n 's/^data: //p' | jq -c "select(.rule == \"$1\")"; }
tells() { [[ $(alerts_of "$1" | jq -r "$2") == *"$3"* ]]; }
held() { [[ $(berth ps --json | jq -r '.items[] | select(.state == "held").name') == *"$1"* ]]; }
state_is() { [[ $(berth alert list --json | jq -r ".items[] | select(.name == \"$1\").state") == "$2" ]]; }

@test "an allocation that the budget refuses is told by a rule that is built in" {
  berth daemon start
  follow
  berth run -q -m 2G -n train -- vram_user --bytes 4GiB || true
  eventually tells out-of-memory .text "lease 1 (train) was refused 4.0 GiB, with "
  tells out-of-memory .text "of 2.0 GiB in use: -m 4"
  tells out-of-memory .subject.kind lease
  berth alert rm out-of-memory
  berth run -q -m 2G -n again -- vram_user --bytes 4GiB || true
  eventually grep -q '"name":"again","reason":"4.0 GiB' news
  [[ $(alerts_of out-of-memory | wc -l) == 1 ]]
}

@test "a GPU that is used beyond 62 and 88 % is told by the rules that are built in, and when it is over" {
  berth daemon start
  follow
  berth run -q -m 15G -- vram_user --bytes 14500MiB --hold 60s >held 2>said 3>&- &
  runs=$!
  patience=30 eventually tells gpu-high .state firing
  patience=30 eventually tells gpu-critical .state firing
  tells gpu-critical .severity critical
  tells gpu-critical .subject.kind device
  tells gpu-critical .text "of 16.0 GiB"
  tells gpu-critical '.actions[0].verb' pause
  state_is gpu-critical firing
  run berth alert list
  contains "gpu-critical: GPU 0"
  [[ $(berth ps --json | jq -r '.items[0].state') == held ]] # Nothing else came of it.
  kill "$runs"
  patience=40 eventually tells gpu-critical .state cleared
  patience=30 eventually tells gpu-high .state cleared
  state_is gpu-high ok
}

@test "each thing that happens to a lease is an event, and can be a rule" {
  berth daemon start
  for event in queued granted checkpoint checkpointed suspended resumed ended; do
    berth alert add "lease.$event name=train" -n "$event"
  done
  follow
  berth run -q -m 15G -n first -- sleep 1000 >/dev/null 2>&1 3>&- &
  eventually held first
  berth run -q -m 4G -n train --checkpoint cmd:true -- vram_user --bytes 1GiB --hold 60s >train 2>&1 3>&- &
  eventually tells queued .text "(train) waits for memory"
  berth cancel first
  eventually tells granted .text "(train) was granted 4.0 GiB"
  eventually grep -q holding train
  berth checkpoint train
  eventually tells checkpoint .text "is asked to save itself"
  eventually tells checkpointed .text "(train) has saved itself"
  berth pause train
  eventually tells suspended .text "(train) is suspended"
  berth resume train
  eventually tells resumed .text "(train) runs again"
  berth cancel train
  eventually tells ended .text "(train) has ended: cancelled"
  [[ $(alerts_of ended | wc -l) == 1 ]] # Not of the other lease.
  grep -q '^event: queued' news
}

@test "an alert about a lease is said by its berth run where the rule says so" {
  berth alert add 'lease.mem_used > 2G' -n large --terminal
  berth alert add 'lease.mem_used > 1G' -n silent
  berth run -m 4G -- vram_user --bytes 2200MiB --hold 60s >held 2>said 3>&- &
  eventually grep -q "berth: alert large: lease 1 uses 2.* GiB of 4.0 GiB" said
  run ! grep silent said
}

@test "a rule waits for as long as it says" {
  berth alert add 'lease.waiting > 1s for 4s' -n long
  follow
  berth run -q -x -n first -- sleep 60 >/dev/null 2>&1 3>&- &
  eventually held first
  berth run -q -m 1G -n second -- true >/dev/null 2>&1 3>&- &
  eventually state_is long pending
  eventually tells long .text "(second) has waited for"
  state_is long firing
  berth cancel second
  eventually tells long .text "has ended"
}

@test "a rule is added, shown, refused twice, and taken away" {
  run berth alert add 'gpu.unmanaged > 2G' -n intruders --severity info --repeat 10m
  status_is 0
  contains "rule intruders: gpu.unmanaged > 2GiB"
  [[ $(stat -c %a "$XDG_CONFIG_HOME/berth/alerts.toml") == 600 ]]
  berth alert list --json | jq -e '.items[] | select(.name == "intruders") | .severity == "info" and .repeat_ms == 600000'
  run berth alert add 'gpu.unmanaged > 3G' -n intruders
  status_is 1
  contains "there is a rule intruders already"
  run berth alert add 'gpu.unmanaged > 3G'
  contains "rule gpu-unmanaged: "
  run berth alert add 'gpu.unmanaged > 4G'
  contains "rule gpu-unmanaged-2: "
  berth alert rm intruders
  run berth alert rm intruders
  status_is 66
  [[ $(berth alert list --json | jq '.items | length') == 5 ]]
  berth config check
}

@test "a rule that is built in can be switched off and replaced" {
  run berth alert rm gpu-high
  contains "rule gpu-high is switched off"
  state_is gpu-high off
  berth alert add 'gpu.mem_used > 75%' -n gpu-high
  state_is gpu-high ok
  [[ $(berth alert list --json | jq -r '.items[] | select(.name == "gpu-high").when') == "gpu.mem_used > 75%" ]]
}

@test "a rule that makes no sense is refused with its column, and nothing is written" {
  run berth alert add 'gpu.mem_usd > 88%'
  status_is 64
  contains "column 1: 'gpu.mem_usd' is nothing to look at; did you mean 'gpu.mem_used'?"
  run berth alert add 'gpu.lost' -n 'a b'
  status_is 64
  [[ ! -e $XDG_CONFIG_HOME/berth/alerts.toml ]]
  run berth alert add
  status_is 64
  contains "add of what?"
}

@test "a rule in a file of the user's own is left to them" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[alert.mine]\nwhen = "gpu.lost"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  run berth alert rm mine
  status_is 1
  contains "config.toml:2: take it out there"
  state_is mine ok
}

@test "where the daemon does not take a rule, the file is as it was" {
  berth alert add gpu.lost -n first
  cp "$XDG_CONFIG_HOME/berth/alerts.toml" before
  printf '[policy]\norder = "bad"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  run berth alert add gpu.lost -n second
  status_is 78
  cmp before "$XDG_CONFIG_HOME/berth/alerts.toml"
  rm "$XDG_CONFIG_HOME/berth/config.toml"
  XDG_CONFIG_HOME=$world/elsewhere run berth alert add gpu.lost -n second
  status_is 78
  contains "the daemon does not read $world/elsewhere/berth/alerts.toml"
}
