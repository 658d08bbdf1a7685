#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Names that one user chooses and others read: on their terminals, in their shells, in the log.
load lib

@test "no name of bob's becomes code in alice's shell" {
  attack bob <<'PY'
from attack import *
for name in ('bench;id>${HOME}/OWNED #', 'be$(touch OWNED)', 'be`touch OWNED`', "be'", 'be\\', 'be\u202etxt',
             'be\u200bnch', '--yes', ':files', '-be', 'be nch', 'be&&touch OWNED', 'be\U000e0041'):
    ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'name': name, 'session': name})
assert ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'name': 'bench-1'})[0] == 201
PY
  cat >"$world/build/bin/completed.bash" <<'BASH'
source <(berth completion bash)
for line in "berth show be" "berth cancel " "berth wait -" "berth why :"; do
  COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
  read -ra COMP_WORDS <<<"$line"
  [[ $line != *" " ]] || COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  "$(complete -p berth | sed -E 's/.*-F ([^ ]+).*/\1/')"
  printf '%s\n' "${COMPREPLY[@]}"
done
BASH
  run as alice bash "$world/build/bin/completed.bash"
  status_is 0
  contains bench-1
  local word
  while IFS= read -r word; do
    [[ $word =~ ^[@A-Za-z0-9=./_-]*\ ?$ ]] || { echo "offered: $word" >&2; return 1; }
  done <<<"$output"
  [[ ! -e $world/home.alice/OWNED ]]
}

@test "no command, name or label of bob's steers another's terminal" {
  attack bob <<'PY'
from attack import *
evil = '\x1b[2J\x1b]0;owned\x07\x1b[31m\x9b1m\u202e\u2066\U000e0041\r'
for field in 'name', 'session', 'command', 'labels':
    value = {'k': evil} if field == 'labels' else evil
    ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, field: value})
# What is refused elsewhere is not in a command line.
assert ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'name': 'seen',
                                  'command': evil})[0] == 201
PY
  local form
  for form in 'ps' 'ps -a' 'ps -o csv' 'ps -o tsv' 'ps --json' 'ps -o ids' 'show seen' 'show seen --json' \
    'queue' 'status' 'history' 'history --events' 'history --events -o csv'; do
    inside script -qec "env NO_COLOR=1 berth $form" /dev/null >"$world/seen" 2>&1 </dev/null || {
      cat -v "$world/seen" >&2
      return 1
    }
    # What berth itself says to a terminal is none of bob's.
    fails grep -aP '\x1b\[2J|\x1b\]0;owned|\x1b\[31m|\x07|\xc2\x9b|\xe2\x80\xae|\xe2\x81\xa6|\xf3\xa0\x81\x81' \
      "$world/seen"
  done
}

@test "no name of a process writes a line of the log or of a table" {
  local evil=$'a\n\e[2J[error] b'
  cp "$world/build/bin/vram_user" "$world/build/bin/$evil"
  as bob env LD_LIBRARY_PATH="$world/build/lib/simgpu" "$evil" --bytes 2GiB --hold 20s \
    >"$world/unmanaged" 2>&1 3>&- &
  eventually grep -q holding "$world/unmanaged"
  as bob berth run -q -m 1G -n forged -- bash -c "exec -a \"\$0\" true" "$evil"
  attack bob <<'PY'
from attack import *
ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'name': 'x\n[error] forged'})
ask('GET', '/v1/x%0a[error]%20forged')
ask('GET', '/v1/status', more='Berth-Hello: api=1.0; version=0%0A[error]; world=x%0A%1b[2J\r\n')
PY
  seen() { as alice berth status >"$world/seen" && grep -qF "[error] b" "$world/seen"; }
  eventually seen
  fails grep -aP '^\[error\]|\x1b\[2J' "$world/seen"
  eventually grep -q forged "$world/log"
  fails grep -aP '\x1b' "$world/log"
  fails grep -aPv '^\d{4}-\d\d-\d\dT\S+Z berthd\[\d+\] ' "$world/log"
}
