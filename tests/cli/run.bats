#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# berth run: what a script sees of it. Terminals are in tests/e2e.
load lib

# held LEASE: the lease is held and taken up.
held() { [[ $(berth show --json "$1" | jq -r '.state + (.flags | join(","))') == held ]]; }
# holder SIZE: a lease of that size in the background, until killed; $holder is its supervisor.
holder() {
  berth run -q -m "$1" -n holder -- sleep 1000 3>&- &
  holder=$!
  eventually held holder
}

@test "the command gets its devices and its lease as variables" {
  berth run -q -m 8G -- env >vars
  grep -x CUDA_VISIBLE_DEVICES=0 vars
  grep -x CUDA_DEVICE_ORDER=PCI_BUS_ID vars
  grep -x NVIDIA_VISIBLE_DEVICES='GPU-.*' vars
  grep -x BERTH_GPUS='GPU-.*' vars
  grep -x BERTH_VRAM_BYTES=8589934592 vars
  grep -x BERTH_LEASE_ID='l_[a-z2-7]\{26\}' vars
  grep -x BERTH_LEASE=1 vars
  grep -x BERTH_SOCKET="$BERTH_RUNTIME_DIR.*/berthd.sock" vars
  grep -x LD_LIBRARY_PATH='.*/lib/simgpu' vars
}

@test "the command's own code is passed on unchanged" {
  for code in 0 1 63 64 75 124 125 126 127 130 255; do
    run berth run -q -m 1G -- sh -c "exit $code"
    status_is "$code"
  done
}

@test "killed by a signal, run dies of the same one and leaves no core" {
  ulimit -c unlimited
  for signal in TERM KILL INT SEGV USR1; do
    python3 - "$signal" <<'PY'
import os, signal, sys
number = getattr(signal, 'SIG' + sys.argv[1])
command = ['berth', 'run', '-q', '-m', '1G', '--', 'sh', '-c',
           'ulimit -c 0; kill -%s $$' % sys.argv[1]]
pid = os.posix_spawnp('berth', command, os.environ)
status = os.waitpid(pid, 0)[1]
assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == number, status
assert not os.WCOREDUMP(status)
PY
  done
}

@test "stdin and stdout are the command's, talk is on stderr" {
  run --separate-stderr berth run -m 1G -- sed s/in/out/ <<<"in"
  status_is 0
  [[ $output == out ]]
  [[ $stderr == "berth: started the daemon "*"berth: granted GPU 0 (GPU (simulated)), 1.0 GiB, lease 1" ]]
  run --separate-stderr berth run -q -m 1G -- true
  [[ -z $output$stderr ]]
}

@test "quiet does not silence what went wrong" {
  run berth run -q -m 100G -- true
  status_is 64
  contains "100.0 GiB fits on no GPU here"
}

@test "-- starts the command, and so does the first word that is no option" {
  run berth run -q -m 1G -- printf '%s.' -m 2G -- x
  [[ $output == "-m.2G.--.x." ]]
  run berth run -q -m 1G printf '%s.' -m 2G
  [[ $output == "-m.2G." ]]
  run berth run -q -m 1G --wait printf '%s' x
  [[ $output == x ]]
  run berth run -m 1G
  status_is 64
}

@test "without -m it asks for a whole GPU, and says so" {
  run --separate-stderr berth run -- env
  status_is 0
  [[ $stderr == *'no -m: asking for a whole GPU (default_vram = "exclusive")'* ]]
  [[ $stderr == *"15.5 GiB and nobody else, lease 1"* ]]
  berth run -q -- sleep 1000 3>&- &
  eventually held 2
  run berth run -q -m 1G --no-wait -- true
  status_is 75
}

@test "without -m default_vram decides" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  echo 'policy.default_vram = "ask"' >"$XDG_CONFIG_HOME/berth/config.toml"
  run berth run -- true
  status_is 64
  contains "-m SIZE"
  BERTH_DEFAULT_VRAM=3GiB run --separate-stderr berth run -- sh -c 'echo $BERTH_VRAM_BYTES'
  status_is 0
  [[ $output == 3221225472 && $stderr == *"no -m: asking for 3.0 GiB"* ]]
}

@test "a project's file gives defaults" {
  mkdir project && cd project
  printf 'vram = "2GiB"\nname = "from-project"\nlabels = { team = "a" }\n' >.berth.toml
  run --separate-stderr berth run -t kind=test -- sh -c 'berth show --json $BERTH_LEASE'
  status_is 0
  [[ $(jq -r '.name, .vram_granted_bytes, .labels.team, .labels.kind' <<<"$output") == \
    $'from-project\n2147483648\na\ntest' ]]
}

@test "while it waits it says for what, and starts when there is room" {
  holder 10G
  berth run -m 8G -- echo started >out 2>err 3>&- &
  waiter=$!
  eventually grep -q "waiting for 8.0 GiB on any GPU — 1st in queue, GPU 0 has 5.5 GiB free (.*/holder holds 10.0 GiB)\. Ctrl-C to leave\." err
  kill "$holder"
  wait "$waiter"
  [[ $(<out) == started ]]
  grep "granted GPU 0 (GPU (simulated)), 8.0 GiB, lease 2" err
}

@test "without room, --no-wait and a --wait that is over end with 75 and say what is missing" {
  holder 10G
  run berth run -m 8G --no-wait -- true
  status_is 75
  contains "GPU 0 can grant 5.5 GiB of the 8.0 GiB asked"
  run berth run -m 8G --wait=100ms -- true
  status_is 75
  contains "not granted within 100 ms"
}

@test "what can never be is refused at once" {
  run berth run -m 100G -- true
  status_is 64
  contains "the largest budget that can be granted is 15.5 GiB"
  run berth run -m 1G -g 0 -- true
  status_is 64
  contains "-g 0,"
  run berth run -m 1G -g 7, -- true
  status_is 69
  contains "there is no GPU 7 here"
  for size in -1 0 1.5X 99999999999999999999 ''; do
    run berth run -m "$size" -- true
    status_is 64
  done
  for options in "-m 1G -x" "-m 1G --wait --no-wait" "--share slice" "-x --share slice" "-m 1G -t novalue" \
    "-m 1G --limit 0" "-m 1G --eta -5s" "-m 1G -n 7up" "-m 1G -p best"; do
    run berth run $options -- true
    status_is 64
  done
}

@test "a device is named by index, by UUID or by the beginning of one" {
  uuid=$(berth status --json | jq -r '.devices[0].uuid')
  for name in 0, "$uuid" "${uuid:0:12}" any 1; do
    run berth run -q -m 1G -g "$name" -- sh -c 'echo $BERTH_GPUS'
    [[ $output == "$uuid" ]]
  done
  run berth run -q -m 1G -g GPU-zzz -- true
  status_is 69
}

@test "a command that cannot be started is known before anything is asked for" {
  run berth run -m 1G -- no-such-command
  status_is 127
  run berth run -m 1G -- /etc/passwd
  status_is 126
  [[ ! -e $BERTH_RUNTIME_DIR/sim ]]
  printf '#!/no/such/interpreter\n' >script && chmod +x script
  run berth run -m 1G -- ./script
  status_is 127
  [[ $(berth ps -a --json | jq '.items | length') == 1 ]]
  eventually state_is 1 ended
}

@test "options of later versions are refused by name, not ignored" {
  for option in --on-pressure=kill --cap-hint=torch --container --peak=1G; do
    run berth run -m 1G "$option" -- true
    status_is 64
    contains "${option%%=*}: not in this version"
  done
  run berth run -m 1G --chekpoint=x -- true
  status_is 64
  contains "--checkpoint"
}

@test "the limit ends the command with 124" {
  run berth run -m 1G --limit 200ms -- sleep 1000
  status_is 124
  contains "lease 1 has reached its limit of"
  eventually state_is 1 ended
  [[ $(berth show --json 1 | jq -r .result) == limit ]]
}

@test "the limit is 124 also for a command that ends well when it is told to" {
  run berth run -q -m 1G --limit 200ms -- bash -c 'trap "exit 0" TERM; sleep 1000 >&- 2>&- 3>&- & wait'
  status_is 124
}

@test "a cancelled command is told to end, and run ends as it does" {
  berth run -m 1G -- sleep 1000 2>err 3>&- &
  runner=$!
  eventually held 1
  berth cancel 1
  wait "$runner" || status=$?
  [[ $status == 143 ]]
  [[ $(grep -c "lease 1 was cancelled by you" err) == 1 ]]
}

@test "signals sent to run reach the command, once" {
  cat >catcher <<'SH'
for signal in HUP INT QUIT TERM USR1 USR2; do trap "echo $signal >>seen" "$signal"; done
echo ready >seen
while [[ ! -e stop ]]; do sleep 0.02; done
SH
  berth run -q -m 1G -- bash catcher 3>&- &
  runner=$!
  eventually grep -q ready seen
  for signal in HUP USR1 USR2 TERM; do
    kill -"$signal" "$runner"
    eventually grep -q "$signal" seen
  done
  touch stop
  wait "$runner"
  [[ $(sort seen | uniq -c | awk '$1 > 1') == "" ]]
}

@test "what is ignored when run starts stays ignored" {
  (trap '' HUP; exec berth run -q -m 1G -- sh -c 'kill -HUP $$; kill -HUP $PPID; echo alive') >out
  [[ $(<out) == alive ]]
}

@test "left while it waits, the queue forgets it" {
  holder 10G
  berth run -m 8G -- true 2>err 3>&- &
  waiter=$!
  eventually grep -q waiting err
  kill -TERM "$waiter"
  wait "$waiter" || status=$?
  [[ $status == 143 ]]
  eventually state_is 2 ended
  [[ $(berth show --json 2 | jq -r .result) == cancelled ]]
}

@test "Ctrl-C while it waits is 130" {
  holder 10G
  # Without job control a shell's background starts with SIGINT ignored.
  python3 - <<'PY' || status=$?
import os, signal, subprocess, sys
waiter = subprocess.Popen(['berth', 'run', '-m', '8G', '--', 'true'], stderr=subprocess.PIPE)
assert b'waiting' in waiter.stderr.readline()
waiter.send_signal(signal.SIGINT)
code = waiter.wait()
sys.exit(128 - code if code < 0 else code)
PY
  [[ $status == 130 ]]
}

@test "--status-fd tells the phases, and whose code it is" {
  berth run -q -m 1G --status-fd 4 -- sh -c 'exit 75' 4>phases || true
  [[ $(jq -r '[.phase, .lease, .code, .from] | @csv' phases) == \
    '"queue",1,,
"run",1,,
"done",1,75,"command"' ]]
  berth run -q -m 100G --status-fd 4 -- true 4>phases || true
  [[ $(jq -c . phases) == '{"phase":"done","lease":null,"code":64,"signal":null,"from":"berth"}' ]]
  berth run -q -m 1G --status-fd 4 -- sh -c 'kill -9 $$' 4>phases || true
  [[ $(tail -1 phases | jq -c '[.code, .signal]') == '[null,9]' ]]
  run berth run -m 1G --status-fd 9 -- true 9>&-
  status_is 64
}

@test "the command does not hold the status descriptor open" {
  berth run -q -m 1G --status-fd 4 -- sh -c 'test ! -e /proc/self/fd/4' 4>phases
}

# listed CLOSED COMMAND...: what descriptors it has, where those are closed before it starts.
listed() {
  local closed=$1
  shift
  eval "\"\$@\" sh -c 'ls /proc/self/fd >\"\$0\"' \"\$PWD/fds\" $closed"
  sort -n fds
}

@test "started without standard descriptors it runs, and so does its command" {
  berth daemon start
  local closed
  for closed in '0<&-' '1>&-' '2>&-' '0<&- 1>&- 2>&-'; do
    listed "$closed" >bare
    (listed "$closed" timeout 60 berth run -m 1G --) >under
    diff bare under
  done
  [[ $(berth ps --json | jq '.items | length') == 0 ]]
  (timeout 60 berth run -m 1G -- sh -c 'exit 5' 0<&- 1>&- 2>&-) || (($? == 5))
  (timeout 60 berth ps 0<&- 1>&- 2>&-)
}

@test "a dry run says whether, and starts nothing" {
  holder 10G
  run berth run --dry-run -m 8G -- touch started
  status_is 75
  run berth run --dry-run -m 2G -- touch started
  status_is 0
  [[ ! -e started && $(berth ps -a --json | jq '.items | length') == 1 ]]
}

@test "disabled, it only becomes the command" {
  export BERTH_DISABLE=1
  run berth run -m 100G -- sh -c 'echo "$$ ${BERTH_LEASE_ID-none}"; exit 3'
  status_is 3
  [[ $output == *" none" && ! -e $BERTH_RUNTIME_DIR/sim ]]
  run berth run -- no-such-command
  status_is 127
}

@test "CUDA_VISIBLE_DEVICES that was set narrows, with a message" {
  CUDA_VISIBLE_DEVICES=0 run berth run -m 1G -- sh -c 'echo "sees $CUDA_VISIBLE_DEVICES"'
  status_is 0
  contains "sees 0"
  contains 'CUDA_VISIBLE_DEVICES is "0": asking for that GPU'
  CUDA_VISIBLE_DEVICES=1,2 run berth run -m 1G -- touch started
  status_is 64
  contains "unset it"
  [[ ! -e started ]]
  eventually state_is 2 ended
}
