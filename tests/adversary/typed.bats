#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Alice at her keyboard: what bob calls his leases, files and programs is completed by her shell, and
# none of it is run.
load lib

# types USER DIRECTORY LINE...: in a bash at a terminal, there, with what `berth completion bash` prints;
# \t and the like are keys, and Enter comes after each line. What that bash was told to run is in the
# file ran of his home, and what he saw on standard output.
types() {
  attack "$@" <<'PY'
import pty, select, sys
from attack import *
home = os.environ['HOME']
with open(f'{home}/rc', 'w', encoding='utf-8') as rc:
    rc.write("""PS1='ready> ' PS2='ready> '; unset HISTFILE
bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set page-completions off'
source <(berth completion bash)
trap 'printf "%s\\n" "$BASH_COMMAND" >>~/ran' DEBUG
""")
pid, terminal = pty.fork()
if pid == 0:
    os.chdir(sys.argv[1])
    os.execvp('bash', ['bash', '--noprofile', '--rcfile', f'{home}/rc', '-i'])


def see(mark, calm):
    """All that is written until the mark is, and then nothing for so many seconds."""
    seen, end = b'', time.monotonic() + 20
    while True:
        if select.select([terminal], [], [], calm)[0]:
            seen += os.read(terminal, 65536)
        elif mark in seen:
            break
        assert time.monotonic() < end, (mark, seen)
    sys.stdout.buffer.write(seen)


see(b'ready> ', 0.1)
for line in sys.argv[2:]:
    os.write(terminal, line.encode().decode('unicode_escape').encode())
    see(b'berth', 0.2)
    os.write(terminal, b'\r')
    see(b'ready> ', 0.3)
    os.write(terminal, b'\x03')  # Of a quotation that is still open.
    see(b'ready> ', 0.1)
os.write(terminal, b'exit\r')
os.waitpid(pid, 0)
PY
}

# only_berth_ran USER: of what he typed, and with nothing but plain words.
only_berth_ran() {
  fails grep -vE "^(berth( ([A-Za-z0-9=./_@'\"-]|\\\\.)+)*|exit)$" "$world/home.$1/ran"
  grep -q ^berth "$world/home.$1/ran"
  [[ -z $(find "$world" -name OWNED) ]]
}

@test "no name of bob's is run in alice's terminal, at the tabulator or at Enter" {
  attack bob <<'PY'
from attack import *
for name in ('be;touch${IFS}OWNED', 'be$(touch${IFS}OWNED)', 'be`touch${IFS}OWNED`', 'be;touch OWNED;', 'be$(touch OWNED)',
             'be`touch OWNED`', 'be\ntouch OWNED\n', 'be\rtouch OWNED\r', 'be\x1b]0;OWNED\x07', 'be\x1b[2J', 'be>OWNED',
             'be|tee${IFS}OWNED', 'be&touch${IFS}OWNED', "be';touch OWNED;'", 'be";touch OWNED;"', 'be!!', 'be{a,b}', 'be*',
             'be\\', 'be nch', '--yes', '$(touch${IFS}OWNED)', ';touch${IFS}OWNED', '\t:command 0', '\t:files'):
    status, said = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'name': name, 'session': name})
    assert status in (201, 400), (name, said)
for name in 'bench-1', 'bench-2':
    assert ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'name': name})[0] == 201
PY
  # M-* inserts all that could stand there.
  types alice "$world/home.alice" 'berth cancel \t\t' 'berth cancel --yes be\t' 'berth cancel --yes bench-\t\t1' \
    'berth show be\x1b*' 'berth show \x1b*' 'berth show "be\t\t' "berth show 'be\\t\\t" 'berth show "be\x1b*' \
    'berth show be\\;\t\t' 'berth why be\t\t' 'berth wait --\t\t' \
    >"$world/seen"
  only_berth_ran alice
  grep -q "bench-2" "$world/seen"
  grep -qE "^berth show .*bench-1.*bench-2" "$world/home.alice/ran"
  fails grep -aP '\x1b\[2J|\x1b\]0;|OWNED' "$world/seen"
}

@test "no name of a file of bob's is run in alice's terminal" {
  inside mkdir -m 1777 "$world/hostile"
  as bob /usr/bin/python3 - "$world/hostile" <<'PY'
import os, sys
os.chdir(sys.argv[1])
for name in ('set;touch OWNED', 'set$(touch OWNED)', 'set`touch OWNED`', 'set\ntouch OWNED\n', 'set\x1b]0;owned\x07',
             'set\x1b[2J', 'set>OWNED', "set'", 'set"', 'set toml', '$(touch OWNED)', ';touch OWNED'):
    open(name, 'w').close()
os.mkdir('a\x1b[2Jb')
open('a\x1b[2Jb/.berth.toml', 'w').close()
PY
  types alice "$world/hostile" 'berth config check set\t\t' 'berth config check set\x1b*' 'berth config check \x1b*' \
    'berth config check "set\x1b*' 'berth config check set\\;\t' 'berth config check set\\$\t' >"$world/seen"
  grep -qF 'touch\ OWNED' "$world/home.alice/ran"
  [[ -z $(find "$world" -name OWNED) ]]
  fails grep -vE '^(berth|exit)' "$world/home.alice/ran"
  # Nor is what berth says of them, or of a directory of his that she is in, of use to him.
  types alice "$world/hostile/"$'a\e[2Jb' 'berth ps' 'berth run -m 1G -- true' >>"$world/seen"
  fails grep -aP '\x1b\[2J|\x1b\]0;' "$world/seen"
}

@test "no program of bob's is run in alice's terminal but the one that she names" {
  inside mkdir -m 1777 "$world/hostile"
  as bob /usr/bin/python3 - "$world/hostile" <<'PY'
import os, sys
os.chdir(sys.argv[1])
for name in ('no;touch OWNED', 'no$(touch OWNED)', 'no`touch OWNED`', 'no|touch OWNED', 'no\ntouch OWNED\n', 'no\x1b[2J'):
    with open(name, 'w') as file:
        file.write('#!/nowhere\n')
    os.chmod(name, 0o755)
PY
  local begin
  for begin in 'no;' 'no$' $'no\e'; do
    as bob mkdir "$world/hostile/${begin:2}"
    as bob bash -c 'mv "$1/$2"* "$1/${2:2}"' - "$world/hostile" "$begin"
    # One alone is completed by one tabulator.
    types alice "$world/hostile/${begin:2}" 'berth run -m 1G -- ./no\t' 'berth run -m 1G ./no\t' \
      >>"$world/seen"
  done
  types alice "$world/hostile" 'berth run -m 1G -- ./no\x1b*' >>"$world/seen"
  fails grep -vE '^(berth|exit)' "$world/home.alice/ran"
  [[ -z $(find "$world" -name OWNED) ]]
  grep -qF 'berth run -m 1G -- ./no\;touch\ OWNED' "$world/home.alice/ran"
  fails grep -aP '\x1b\[2J' "$world/seen"
}
