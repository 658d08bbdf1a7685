# SPDX-License-Identifier: Apache-2.0
# Leases that cannot be suspended: berth pause says why, and all runs on as before.
load lib


setup() {
  world_up
  caller=${build_dir:-$(git -C "$BATS_TEST_DIRNAME" rev-parse --show-toplevel)/build/release}/bin/tests/cuda_caller
}

# refused TEXT: lease 1 is not suspended for that reason, and not changed.
refused() {
  run berth pause 1
  status_is 1
  contains "$1"
  state_is 1 held
}

# call NAME CALLS: a lease whose program makes these calls of the driver, and then waits.
call() {
  mkfifo calls
  berth run -q -m 4G -- "$caller" dlsym <calls >answers 2>said 3>&- &
  program=$!
  exec 5>calls
  printf '%s\n' "$@" >&5
  eventually answered $#
}
answered() { (($(wc -l <answers) >= $1)) && ! grep -vx 0 answers; }
ends_well() {
  exec 5>&-
  wait "$program"
}

@test "managed memory" {
  call "retain 0" "managed a 1048576"
  refused "the driver does not move managed memory"
  refused "CUDA_ERROR_NOT_SUPPORTED"
  ends_well
}

@test "memory that processes can share, before driver 610" {
  call "retain 0" "m_share h 2097152"
  refused "memory that processes share"
  ends_well
}

@test "since driver 610 a process of a job is suspended with what it shares" {
  export BERTH_SIM=1x16GiB,cuda=13.3
  CUDA_CHECKPOINT_JOB_FILE=$world/job call "retain 0" "m_share h 2097152"
  berth pause 1
  state_is 1 suspended
  berth resume 1
  ends_well
}

@test "a device that MIG or MPS shares, as long as it does" {
  call "retain 0" "alloc a 1048576"
  local mode
  for mode in mig mps; do
    berth-simctl mode 0 $mode
    refused "CUDA_ERROR_NOT_SUPPORTED"
  done
  berth-simctl mode 0 usual
  berth pause 1
  state_is 1 suspended
  berth resume 1
  ends_well
}

@test "a driver that locks and does not move, as that of aarch64" {
  call "retain 0" "alloc a 1048576"
  berth-simctl checkpoint-error checkpoint ERROR_NOT_SUPPORTED 1
  refused "nothing on aarch64"
  berth pause 1 # It was unlocked: this time it works.
  berth resume 1
  ends_well
}

@test "a process that does not come out of the driver in time" {
  call "retain 0" "alloc a 1048576"
  berth-simctl checkpoint-error lock ERROR_NOT_READY 1
  refused "CUDA_ERROR_NOT_READY"
  ends_well
}

@test "host memory that does not suffice" {
  call "retain 0" "alloc a 1073741824"
  berth-simctl checkpoint-memory 1GiB
  refused "CUDA_ERROR_OUT_OF_MEMORY"
  ends_well
}

# What the reservation in the ledger is for: see docs/suspend.md.
@test "a restore that nothing was reserved for ruins its process, and berth resume makes none" {
  berth run -q -n first -m 10G -- vram_user --bytes 8GiB --hold 5s --verify >first 2>&1 3>&- &
  local first=$!
  eventually grep -q holding first
  berth pause first
  berth run -q -n second -m 12G -- vram_user --bytes 10GiB --hold 60s >second 2>&1 3>&- &
  eventually grep -q holding second

  # With it, its memory does not come back before there is room.
  berth resume first >resumed 2>&1 3>&- &
  resuming() { berth show first --json | grep -q '"resuming"'; }
  eventually resuming
  ruined() { grep -q CUDA_ERROR first; }
  local i
  for i in 1 2 3; do berth status >/dev/null; done
  state_is first suspended
  fails ruined

  # Without it, the driver is asked at once.
  local pid=$(berth show first --json | jq -r .pid)
  local start=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f20)
  local mover=$(dirname "$(type -P berth)")/berth-mover
  mkdir held
  printf '%s\0' held 1 back 0 - "user=$(id -u)" "$pid:$start" >task && echo >>task
  LD_LIBRARY_PATH=${mover%/bin/*}/lib/simgpu run "$mover" <task
  contains "stuck process $pid: cuCheckpointProcessRestore: CUDA_ERROR_OUT_OF_MEMORY"
  if wait "$first"; then return 1; fi
  ruined
}
