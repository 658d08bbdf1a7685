# SPDX-License-Identifier: Apache-2.0
# Ways to hold a lease to its budget other than the guard, and what becomes of one that is above it.
load lib

configure() { # configure LINE...: before the daemon is there
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '%s\n' "$@" >"$XDG_CONFIG_HOME/berth/config.toml"
}
is() { [[ $(berth show "$1" --json | jq -r ".$2") == "$3" ]]; }
# mps_control: listens where CUDA_MPS_PIPE_DIRECTORY says, as a control daemon of MPS does.
mps_control() {
  export CUDA_MPS_PIPE_DIRECTORY=$world/mps
  mkdir "$CUDA_MPS_PIPE_DIRECTORY"
  /usr/bin/python3 -c '
import signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("listens", flush=True)
signal.pause()' "$world/mps/control" >listener 3>&- &
  eventually grep -q listens listener
}

@test "the watchdog announces what is above its budget, and ends nothing" {
  configure 'enforce.over_budget_grace = "1s"'
  berth run -q -m 2G --enforce watchdog -- bash -c '
    vram_user --bytes 3GiB --hold 60s & until [[ -e done ]]; do sleep 0.05; done; kill $!
    wait $!; exit 7' >out 2>said 3>&- &
  local run=$!
  eventually grep -q "lease 1 uses 3.3 GiB, above its budget of 2.0 GiB" said
  is 1 'flags[0]' over_budget
  # It is logged when it is certain; the grace of `kill` would have begun then.
  logged() { berth daemon logs -n 50 | grep -q "lease 1 uses 3.3 GiB of a GPU, above its budget of 2.0 GiB"; }
  eventually logged
  is 1 state held
  touch done
  local status=0
  wait "$run" || status=$?
  [[ $status == 7 ]]
  fails grep -q "told to end" said
  berth wait 1 || true
  is 1 result failed
}

@test "--over-budget kill ends what is above its budget, and its neighbour never notices" {
  configure 'enforce.over_budget_grace = "1s"'
  berth run -m 4G --enforce watchdog --over-budget kill -- vram_user --bytes 3GiB --hold 60s --verify \
    >neighbour 2>&1 3>&- &
  local neighbour=$!
  eventually grep -q holding neighbour
  run --separate-stderr berth run -m 2G --enforce watchdog --over-budget kill -- \
    vram_user --bytes 3GiB --hold 60s
  status_is 143
  [[ $stderr == *"lease 2 uses 3.3 GiB, above its budget of 2.0 GiB; it is ended for that unless it uses less soon (--over-budget kill)"* ]]
  [[ $stderr == *"lease 2 was above its budget of 2.0 GiB for too long; its command was told to end"* ]]
  berth wait 2 || [[ $? == 143 ]]
  is 2 result over_budget
  run berth show 2
  contains "over_budget"
  is 1 state held
  is 1 flags '[]'
  kill -0 "$neighbour"
  [[ $(<neighbour) != *rror* ]]
}

@test "what escapes the guard is ended as well, where it was asked for" {
  configure 'enforce.over_budget_grace = "1s"' 'enforce.over_budget = "kill"'
  run --separate-stderr berth run -m 2G -- \
    env -u LD_PRELOAD -u LD_AUDIT vram_user --bytes 3GiB --hold 60s
  status_is 143
  is 1 result over_budget
  # What the guard lets fail is never above.
  run --separate-stderr berth run -m 2G -- vram_user --bytes 3GiB --step 256MiB
  status_is 1
  [[ $stderr == *OUT_OF_MEMORY* && $stderr != *"above its budget"* ]]
}

@test "under the watchdog nothing is preloaded, and --over-budget fail is quiet" {
  run --separate-stderr berth run -m 2G --enforce watchdog -- env
  [[ $output != *LD_PRELOAD* && $output != *BERTH_LEASE_DIR* ]]
  berth run -m 2G --over-budget fail -- bash -c '
    BERTH_DISABLE=1 vram_user --bytes 3GiB --hold 60s & until [[ -e done ]]; do sleep 0.05; done; kill $!' \
    2>said 3>&- &
  local run=$!
  over() { is 2 'flags[0]' over_budget; }
  eventually over
  touch done
  wait "$run" || true
  ! grep -q "above its budget" said
}

@test "--enforce mps needs a control daemon, and says how to start one" {
  export CUDA_MPS_PIPE_DIRECTORY=$world/nothing
  run berth run -m 2G --enforce mps -- touch started
  status_is 69
  contains "no control daemon of MPS runs here (there is no $world/nothing/control)"
  contains "nvidia-cuda-mps-control -d"
  [[ ! -e started ]]
}

@test "--enforce mps tells each process its limit, by the order of the devices" {
  mps_control
  run --separate-stderr berth run -m 2G --enforce mps -- env
  status_is 0
  [[ $output == *"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2G"* && $output != *LD_PRELOAD* ]]
  [[ $stderr == *"the simulated driver has no MPS"* ]]
  configure 'enforce.mode = "mps"'
  run --separate-stderr berth run -m 2560M -- bash -c 'echo $CUDA_MPS_PINNED_DEVICE_MEM_LIMIT;
    berth run --new-lease --enforce none -m 1G -- bash -c "echo \${CUDA_MPS_PINNED_DEVICE_MEM_LIMIT-none}"'
  [[ $output == $'0=2560M\nnone' ]]
}

@test "what does not go together is refused before anything is asked for" {
  while IFS='|' read -r options part; do
    # shellcheck disable=SC2086
    run berth run -m 2G $options -- touch started
    status_is 64
    contains "$part"
  done <<'ROWS'
--enforce none --over-budget suspend|--over-budget suspend does not
--over-budget shout|--over-budget
--enforce watchdog --over-budget fail|a watchdog can notify, suspend or kill
--enforce none --over-budget kill|--enforce none trusts the command
--enforce everything|--enforce
ROWS
  [[ ! -e started ]]
  run berth run -m 2G -- berth run --over-budget kill -- touch started
  status_is 77
  contains "lease 1 has said what becomes of it when it is over its budget: --new-lease"
  configure 'enforce.over_budget = "requeue"'
  run berth run -m 2G -- true
  status_is 78
  contains 'must be "fail", "notify", "kill" or "suspend"'
}
