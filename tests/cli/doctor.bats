#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `doctor` in a world, with one thing after the other out of order.
load lib

finding() { # finding CHECK: its level, or nothing
  berth doctor --lock-files="$world/gpu_lock" --json 2>/dev/null |
    jq -r --arg check "$1" '[.items[] | select(.check == $check).level] | join(" ")'
}

@test "all is well in a fresh world, apart from where it runs" {
  run berth doctor --lock-files="$world/gpu_lock"
  status_is 0
  contains "0 failures"
  contains "1 simulated GPU (machine $BERTH_SIM_NAME)"
  contains "berthd 0"
}

@test "a FAIL ends with 1, and has a cure" {
  berth daemon start
  chmod 0755 "$world/run/sim/$BERTH_SIM_NAME"
  run berth doctor
  status_is 1
  contains "FAIL"
  contains "-> "
}

@test "stale lock files are told from those in use" {
  [[ $(finding lock_files) == "" ]]
  touch "$world/gpu_lock_0"
  [[ $(finding lock_files) == warn ]]
  run berth doctor --lock-files="$world/gpu_lock"
  contains "1 lock file that nobody holds: $world/gpu_lock_0"
  contains "-> rm $world/gpu_lock_0"
  exec 9>"$world/gpu_lock_1"
  flock 9
  run berth doctor --lock-files="$world/gpu_lock"
  contains "1 lock file in use: $world/gpu_lock_1"
  sleep 60 3>&- 9>&- &
  echo "pid=$!" >"$world/gpu_lock_2"
  run berth doctor --lock-files="$world/gpu_lock"
  contains "2 lock files in use"
  # One that is held by fcntl(2), as many a library does it.
  touch "$world/gpu_lock_3"
  python3 -c 'import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(60)' "$world/gpu_lock_3" >"$world/locker" 3>&- 9>&- &
  eventually grep -q locked "$world/locker"
  run berth doctor --lock-files="$world/gpu_lock"
  contains "3 lock files in use"
  [[ $output != *"*"* ]]
  # Doing what it says leaves those alone that are held.
  eval "$(sed -n 's/.*-> \(rm .*gpu_lock.*\)/\1/p' <<<"$output")"
  [[ ! -e $world/gpu_lock_0 && -e $world/gpu_lock_1 && -e $world/gpu_lock_2 && -e $world/gpu_lock_3 ]]
}

@test "in a PID namespace of its own a lock whose maker has ended is held still" {
  unshare --pid --fork --mount-proc true 2>/dev/null || skip "no PID namespace can be made here"
  run unshare --pid --fork --mount-proc bash -c 'exec 9>"$1/gpu_lock_1"; flock 9
    berth doctor --lock-files="$1/gpu_lock"; true' - "$world"
  contains "1 lock file in use: $world/gpu_lock_1"
}

@test "variables of the driver that count GPUs otherwise, and one of PyTorch's that is no fault" {
  [[ $(finding allocator) == "" ]]
  export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512
  [[ $(finding allocator) == ok ]]
  export CUDA_DEVICE_ORDER=FASTEST_FIRST
  [[ $(finding device_order) == warn ]]
}

@test "programs that use libberth find it, or are told where it is" {
  lib=$(realpath "$(dirname "$(command -v berth)")/../lib")
  [[ $(finding libberth) == skip ]]
  run berth doctor
  contains "-> export LD_LIBRARY_PATH=$lib"
  [[ $(LD_LIBRARY_PATH=$lib finding libberth) == ok ]]
}

@test "a program that uses the GPU without a lease" {
  berth daemon start
  library=$(dirname "$(command -v berth)")/../lib/simgpu
  LD_LIBRARY_PATH=$library vram_user --bytes 2GiB --hold 60s 3>&- >"$world/unmanaged" 2>&1 &
  eventually grep -q holding "$world/unmanaged"
  eventually is unmanaged warn
  run berth doctor
  contains "without a lease (vram_user "
}
is() { [[ $(finding "$1") == "$2" ]]; }

@test "an invalid configuration is a finding" {
  mkdir "$world/config/berth"
  echo 'gpu.reserv = 1' >"$world/config/berth/config.toml"
  [[ $(berth doctor --json --no-autostart 2>/dev/null |
    jq -r '.items[] | select(.check == "configuration").level') == fail ]]
}

@test "without a daemon what it would know is skipped" {
  run berth doctor --no-autostart --lock-files="$world/gpu_lock"
  status_is 0
  contains "skip  the driver was not asked"
  contains "skip  no daemon runs here"
}

@test "what log-out does to jobs is looked at, in the systemd of this machine" {
  [[ $(finding log_out) =~ ^(ok|warn)$ ]]
}

@test "completion that is installed is seen" {
  export SHELL=/bin/bash
  run berth doctor
  contains "completion for bash is not installed"
  mkdir -p .local/share/bash-completion/completions
  berth completion bash >.local/share/bash-completion/completions/berth
  run berth doctor
  contains "completion for bash is installed"
}

@test "a journal that was moved aside is named" {
  berth daemon start
  state=$(berth daemon status --json | jq -r .state_dir)
  berth daemon stop
  echo "no database at all, but long enough to be taken for one" >"$state/leases.db"
  run berth doctor
  contains "a journal was moved aside:"
  contains "$state/leases.db."
}

@test "each way of enforcement is available, or says why not" {
  export CUDA_MPS_PIPE_DIRECTORY=$world/mps
  berth run -q -m 1G -- true
  eventually is watchdog ok
  [[ $(finding guard) == ok && $(finding audit) == ok ]]
  [[ $(finding mps) == skip && $(finding dmem) =~ ^(ok|skip)$ ]]
  run berth doctor
  contains "the guard can be preloaded (glibc "
  contains "(there is no $world/mps/control)"
  contains "-> nvidia-cuda-mps-control -d"
}

@test "a guard that is not installed is missed" {
  mkdir -p bin
  cp "$(type -P berth)" bin/
  run bin/berth doctor --no-autostart
  contains "warn  libberth-guard.so is not installed beside this program"
  contains "what programs use is only measured, after the fact"
  contains "skip  libberth-audit.so is not installed"
}

@test "a control daemon of MPS is found while it lives" {
  export CUDA_MPS_PIPE_DIRECTORY=$world/mps
  mkdir "$CUDA_MPS_PIPE_DIRECTORY"
  /usr/bin/python3 -c '
import signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("listens", flush=True)
signal.pause()' "$world/mps/control" >listener 3>&- &
  local listener=$!
  eventually grep -q listens listener
  [[ $(finding mps) == ok ]]
  kill "$listener"
  wait "$listener" || true
  [[ $(finding mps) == skip ]]
  run berth doctor
  contains "nobody listens at $world/mps/control"
}

@test "what the driver can do for a pause follows its version" {
  local sim line
  checkpoints() {
    berth doctor --json | python3 -c "
import json, sys
for item in json.load(sys.stdin)['items']:
    if item['check'] == 'checkpoints': print(item['fact'])"
  }
  tells() { [[ $(checkpoints) == *"$1"* ]]; }
  for sim in 12.0:525 12.9:575 13.0:580 13.3:610; do
    export BERTH_SIM=1x16GiB,cuda=${sim%:*} BERTH_SIM_NAME=of-${sim#*:}
    eventually tells "driver ${sim#*:}"
    line=$(checkpoints)
    case $sim in
      12.0*) [[ $line == *"has no checkpoint calls, which came with 570"* ]] ;;
      12.9*) [[ $line == *"can move memory"*"does not know restores on another GPU of the kind (580)"* ]] ;;
      13.0*) [[ $line == *"knows restores on another GPU of the kind (580); does not know processes launched as a job (590)"* ]] ;;
      13.3*) [[ $line == *"CUDA IPC within a job (610); does not know storage of one's own (615)"* ]] ;;
    esac
  done
}
