#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Messages that one user sends and another reads: on their terminals, in the log, in great number.
load lib

setup() {
  machine_up
  as alice berth run -m 1G -n train -- sleep 600 >"$world/said" 2>&1 3>&- &
  eventually eval '[[ $(of_train state) == held ]]'
}
of_train() { as alice berth show train --json 2>/dev/null | command jq -r ".$1"; }

@test "no message of bob's steers alice's terminal" {
  attack bob <<'PY'
from attack import *
evil = ['\x1b[2J', '\x1b]0;owned\x07', '\x9b1m', '\u202e', '\u2066', '\U000e0041', 'a\r', 'a\nb', '\u200b', '\x00']
for text in evil:
    status, said = ask('POST', '/v1/leases/1/message', {'text': 'need ' + text})
    assert status == 400, (text, status, said)
for body in ({'text': 7}, {'text': None}, {'text': []}, {}, {'text': 'a', 'wait_ms': -1}, {'text': 'x' * 281},
             {'text': ' '}, {'text': 'a', 'from': 0}):
    status, said = ask('POST', '/v1/leases/1/message', body)
    assert status == 400, (body, status, said)
status, said = ask('POST', '/v1/leases/1/message', {'text': '$(touch OWNED) `id` "; x %s {0} \\033[2J'})
assert status == 200, said
PY
  eventually grep -qF 'touch OWNED' "$world/said"
  local form
  for form in 'ps' 'show train' 'show train --json' 'history --events' 'history --events -o csv'; do
    inside script -qec "env NO_COLOR=1 berth $form" /dev/null >"$world/seen" 2>&1 </dev/null
    fails grep -aP '\x1b\[2J|\x1b\]0;owned|\x07|\xc2\x9b|\xe2\x80\xae|\xe2\x81\xa6|\xf3\xa0\x81\x81' "$world/seen"
  done
  [[ ! -e $world/home.alice/OWNED ]]
}

@test "bob answers nothing for alice, and not in her name" {
  as bob berth message train please
  run as bob berth agree train
  status_is 77
  run as bob berth refuse train
  status_is 77
  [[ $(of_train 'messages[0].answer') == null && $(of_train 'messages[0].from') == bob ]]
  as alice berth refuse train no
  [[ $(as bob berth show train --json | command jq -r '.messages[0].why') == no ]]
}

@test "a flood of bob's leaves room for others, and is not kept" {
  attack bob <<'PY'
from attack import *
one = Client()
sent = 0
for i in range(300):
    status, said = one.ask('POST', '/v1/leases/1/message', {'text': f'now {i}'})
    assert status in (200, 409, 429), (status, said)
    sent += status == 200
assert sent == 1, sent
PY
  [[ $(of_train 'messages | length') == 1 ]]
  run as alice berth message train 'a note to myself'
  status_is 0
  as alice berth agree train --number 1
  # One lease after the other: so many a minute of all of them.
  attack bob <<'PY'
from attack import *
leases = [ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000})[1]['id'] for _ in range(20)]
said = [ask('POST', f'/v1/leases/{lease}/message', {'text': 'now'})[0] for lease in leases]
assert said.count(200) == 9 and said.count(429) == 11, said
PY
}

@test "a rule of alice's hears alice alone unless it names others" {
  as alice berth run -m 1G -n open --on-message refuse --message-from bob -- sleep 600 >/dev/null 2>&1 3>&- &
  eventually eval 'as alice berth show open --json 2>/dev/null | grep -q "\"held\""'
  as alice berth run -m 1G -n closed --on-message refuse -- sleep 600 >/dev/null 2>&1 3>&- &
  eventually eval 'as alice berth show closed --json 2>/dev/null | grep -q "\"held\""'
  run as bob berth message open please
  status_is 1
  contains "refused by its rule"
  run as bob berth message closed please
  status_is 0
  contains "no answer yet"
}
