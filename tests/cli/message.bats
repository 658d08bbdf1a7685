#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth message`, `berth agree`, `berth refuse`: something is asked of the holder of a lease.
load lib

says() { grep -qF -- "$2" "$1"; }
# holder [OPTION...]: a lease of that name, with 8 GiB of which it uses 4.
holder() {
  berth run -m 8G -n holder "$@" -- vram_user --bytes 4GiB --hold 600s >said 2>&1 3>&- &
  eventually state_is holder held
  uses() { [[ $(of holder vram_used_bytes) -ge $((4 << 30)) ]]; }
  eventually uses
}

@test "the holder sees it and answers, and the sender hears so" {
  holder
  run berth message holder 'need 6 GiB for 10 min'
  status_is 0
  contains "asked the holder of lease 1 ($(id -un)/holder): no answer yet"
  eventually says said "lease 1 has message 1 from $(id -un): \"need 6 GiB for 10 min\" (berth agree 1, or berth refuse 1)"
  [[ $(of holder 'flags | index("message")') != null ]]
  run berth ps
  contains "held,message"
  run berth show holder
  contains '"need 6 GiB for 10 min", no answer yet'
  run berth refuse holder 'in the middle of it'
  status_is 0
  contains 'is refused by you: "in the middle of it"'
  [[ $(of holder 'flags | index("message")') == null ]]
  [[ $(of holder messages[0].answer) == refused && $(of holder messages[0].why) == "in the middle of it" ]]
  eventually says said 'is refused by you: "in the middle of it"'
  run berth history --events
  contains "need 6 GiB"
}

@test "who waits for the answer ends as it says" {
  holder
  run berth message holder first --wait 300ms
  status_is 75
  contains "no answer yet"
  berth agree holder
  berth message holder second --wait 60s >answer 2>&1 3>&- &
  local sender=$!
  eventually eval '[[ $(of holder "messages[1].text") == second ]]'
  berth agree holder
  wait "$sender"
  says answer "agreed by you"
  berth message holder third --wait 60s >answer 2>&1 3>&- &
  sender=$!
  eventually eval '[[ $(of holder "messages[2].text") == third ]]'
  berth refuse holder
  local code=0
  wait "$sender" || code=$?
  [[ $code == 1 ]]
  says answer "refused by you"
}

@test "an agreement can pause it for so long" {
  holder
  berth message holder please
  run berth agree holder --pause 2s
  status_is 0
  contains "it is on its way out"
  eventually state_is holder suspended
  [[ $(of holder paused.reason) == "message 1" ]]
  eventually state_is holder held
}

@test "a rule answers once, and what it does not answer stays open" {
  holder --on-message "pause 2s"
  run berth message holder please --wait 60s
  status_is 0
  contains "agreed by its rule"
  eventually state_is holder suspended
  eventually state_is holder held
  run berth message holder again
  status_is 0
  contains "no answer yet"
  run berth show holder
  contains "on message  pause 2 s"
}

@test "a rule is for whom it names" {
  holder --on-message refuse --message-from nobody,0
  run berth message holder please --wait 1s
  if ((EUID == 0)); then status_is 1; else status_is 75; fi
  [[ $(of holder on_message.user_ids[0]) == "$(id -u nobody)" ]]
}

@test "it survives the daemon" {
  holder
  berth message holder please
  kill -KILL "$(berth daemon status --json | jq .pid)"
  eventually berth daemon start
  eventually state_is holder held
  [[ $(of holder messages[0].text) == please ]]
  berth agree holder
  [[ $(of holder messages[0].answer) == agreed ]]
}

@test "streams tell of it" {
  holder
  berth events holder -o json >events 2>&1 3>&- &
  eventually says events '"event":"lease"'
  berth message holder please
  eventually says events '"event":"message_sent"'
  berth refuse holder
  eventually says events '"event":"message_answered"'
  run berth message holder again -o json
  status_is 0
  [[ $(jq -r '.messages[1].text' <<<"$output") == again ]]
}

@test "what makes no sense is refused, with what would do" {
  holder
  run berth message holder "$(printf '%0300d' 0)"
  status_is 64
  contains "a message of 300 bytes: at most 280"
  run berth message holder ''
  status_is 64
  run berth message holder $'a\nb'
  status_is 64
  run berth message 99 please
  status_is 66
  run berth agree holder
  status_is 1
  contains "lease 1 has no message that waits for an answer"
  berth message holder please
  run berth message holder please
  status_is 75
  contains "lease 1 has your message 1"
  run berth agree holder --number 7
  status_is 1
  contains "no open message 7; there are: 1"
  berth run -x -n waiter -- true 2>/dev/null 3>&- &
  eventually state_is waiter waiting
  run berth message waiter please
  status_is 1
  contains "lease 2 waits"
  run berth run -m 1G --on-message pause -- true
  status_is 64
  contains "pause DURATION"
  run berth run -m 1G --message-from root -- true
  status_is 64
  contains "--on-message"
  run berth run -m 1G --on-message refuse --message-from no-such-user -- true
  status_is 64
  contains "no user 'no-such-user'"
}

@test "an idle lease is asked for room, makes it, and comes back" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[policy]\nidle = "1s"\nidle_action = "ask"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  berth-simctl utilization 0 0
  berth run -m 12G -n notebook -- vram_user --bytes 4GiB --hold 600s >said 2>&1 3>&- &
  eventually state_is notebook held
  is_idle() { [[ $(of notebook idle_since) != null ]]; }
  patience=120 eventually is_idle
  berth run -m 10G -n waiter -- sleep 3 2>waits 3>&- &
  eventually says said "from the daemon: \"lease 2 waits for 10.0 GiB"
  state_is waiter waiting
  state_is notebook held
  berth agree notebook
  eventually state_is waiter held
  state_is notebook suspended
  eventually state_is notebook held
}
