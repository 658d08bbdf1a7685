#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Watchers of GPUs that know nothing of Berth, on the simulated NVML: Debian's gpustat, nvtop and
# hwloc. Each shows the same with and without the guard, the right figures, and the budget's card
# where it is told to.
load ../cli/lib
load packages

# An unmanaged process with 500 MiB, and a neighbour with 3 GiB and a context of 300 MiB in a lease.
setup() {
  world_up
  ! berth_is_sanitized || skip "a program without a sanitizer loads no driver that has one"
  have_packages gpustat python3-{blessed,psutil,pynvml,six,wcwidth,pkg-resources} nvtop \
    libncursesw6 hwloc libhwloc15 libhwloc-contrib-plugins
  driver=$(realpath "$(dirname "$(type -P berth)")/../lib/simgpu")
  programs=$others/tree/usr/bin
  libraries=$(libraries_of_others)
  export PYTHONPATH=$others/tree/usr/lib/python3/dist-packages
  export HWLOC_PLUGINS_PATH=$libraries/hwloc
  berth-simctl unmanaged 0 500MiB
  berth run -q -m 4G -- vram_user --bytes 3GiB --hold 100s >neighbour 2>&1 3>&- &
  eventually grep -sq holding neighbour
  neighbour=$(berth-simctl show |
    command jq '.devices[0].processes[] | select(.used_bytes > 1073741824).pid')
}

# alone COMMAND..., held COMMAND...: on the simulated NVML, without Berth and in a lease of 2 GiB.
alone() { LD_LIBRARY_PATH=$driver:$libraries timeout --foreground 30 "$@"; }
held() { LD_LIBRARY_PATH=$libraries timeout --foreground 30 berth run -q -m 2G -- "$@"; }
# The same beside a program of the lease that has 1 GiB and a context, which its NVML shows alone.
held_to_the_budgets_card() {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[policy]\nreport_nvml = "budget"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  berth daemon reload 2>/dev/null || berth daemon restart
  cat >beside <<'END'
vram_user --bytes 1GiB --hold 60s >mine 2>&1 &
until grep -sq holding mine; do sleep 0.02; done
"$@"
code=$?
kill $!
exit "$code"
END
  held bash beside "$@"
}

# What stands in gpustat's JSON, but for the time and what the CPU does.
gpustat() {
  local way=$1
  "$way" /usr/bin/python3 "$programs/gpustat" --json |
    command jq -c '.gpus[0] | [.uuid, .["memory.used"], .["memory.total"],
      (.processes | map([.pid, .command, .gpu_memory_usage]) | sort)]'
}

@test "gpustat shows the same with and without the guard" {
  gpustat alone >plain
  gpustat held >guarded
  cmp plain guarded
  uuid=$(berth-simctl show | command jq -c .devices[0].uuid)
  [[ $(<plain) == "[$uuid,3872,16384,[[$neighbour,\"vram_user\",3372]]]" ]]
}

@test "gpustat shows the budget's card and the lease's programs alone" {
  gpustat held_to_the_budgets_card >card
  [[ $(<card) =~ ,1324,2048,\[\[[0-9]+,\"vram_user\",1324]]]$ && $(<card) != *"$neighbour"* ]]
}

# lines WAY: what nvtop draws of memory and of processes, after a second or two.
nvtop_lines() {
  local way=$1
  export -f "$way" held
  export driver libraries
  cat >drive <<'END'
set timeout 20
set stty_init {rows 40 cols 160}
spawn bash -c "$env(WAY) $env(NVTOP) -d 5"
expect -re {[0-9]+MiB}
after 1500
send q
expect eof
exit [lindex [wait] 3]
END
  local code=0
  WAY=$way NVTOP=$programs/nvtop expect drive >drawn 2>&1 || code=$?
  # Without the terminal's colours, and a blank for each move of its cursor.
  sed -E 's/\x1b(\[[0-9;]*m|\(.)//g; s/\x1b\[[0-9;?]*[A-Za-z]/ /g' drawn | tr -s ' \r' ' ' |
    grep -oE '[0-9.]+Gi/[0-9.]+Gi|[0-9]+ [^ ]+ 0 (Compute|Graphic) [^ ]+ [0-9]+MiB [0-9]+%' |
    sed -E 's/(Compute|Graphic) [^ ]+/\1/' | sort -u
  return "$code"
}

@test "nvtop shows the same with and without the guard" {
  nvtop_lines alone >plain
  nvtop_lines held >guarded
  diff plain guarded
  grep -qx '3.781Gi/16.000Gi' plain
  grep -qx "$neighbour $(id -un) 0 Compute 3372MiB 21%" plain
  grep -qx '4194303 N/A 0 Compute 500MiB 3%' plain
}

@test "nvtop shows the budget's card, and does not abort" {
  nvtop_lines held_to_the_budgets_card >card
  grep -qx '1.293Gi/2.000Gi' card
  grep -qE '^[0-9]+ [^ ]+ 0 Compute 1324MiB 65%$' card
  fails grep -q "^$neighbour " card
  fails grep -q 3372MiB card
}

# What each says of the GPU, in one form: "used/total MiB, busy %, C, W".
gpustat_figures() {
  alone /usr/bin/python3 "$programs/gpustat" --json --show-power | command jq -r '.gpus[0] |
    "\(.["memory.used"])/\(.["memory.total"]) \(.["utilization.gpu"]) \(.["temperature.gpu"]) \(.["power.draw"])"'
}
nvtop_figures() {
  way=alone nvtop_lines alone >/dev/null || return
  sed -E 's/\x1b(\[[0-9;]*m|\(.)//g; s/\x1b\[[0-9;?]*[A-Za-z]/ /g' drawn | tr -s ' \r' ' ' | grep -oE \
    'TEMP *[0-9]+|POW *[0-9]+|[^0-9][0-9]+% ?[]|]|[0-9.]+Gi/[0-9.]+Gi' | tr -d ' |]' | sort -u
}
status_figures() {
  berth status --json | jq -r '.devices[0] | "\(.vram_used_bytes / 1048576 | floor)/" +
    "\(.vram_total_bytes / 1048576) \(.gpu_utilization_percent) \(.temperature_celsius) " +
    "\(.power_milliwatts / 1000)"'
}

@test "gpustat, nvtop and berth top show the same figures of a GPU" {
  berth-simctl gauge 0 temperature 71
  berth-simctl gauge 0 power 315000
  berth run -q -m 1G -- vram_user --bytes 512MiB --busy 40% --hold 100s >busy 2>&1 3>&- &
  eventually grep -sq holding busy
  eventually bash -c 'berth status --json | jq -e ".devices[0].gpu_utilization_percent == 40"'
  [[ $(gpustat_figures) == "4684/16384 40 71 315" ]]
  [[ $(status_figures) == "4684/16384 40 71 315" ]]
  nvtop_figures >shown
  grep -qx '4.574Gi/16.000Gi' shown
  grep -qx 'TEMP71' shown
  grep -qx 'POW315' shown
  COLUMNS=120 berth top --once >top
  grep -qE '^ GPU 0 .* 40 % busy +71 °C +315 of 300 W .* used 4\.6 ' top
}

# What lstopo finds by NVML.
topology() {
  "$1" "$programs/lstopo-no-graphics" -v --filter io:all --of console | grep -o 'GPU(NVML).*'
}

@test "hwloc's plugin finds the GPU by NVML, with and without the guard" {
  topology alone >plain
  topology held >guarded
  cmp plain guarded
  grep -q "NVIDIAUUID=$(berth-simctl show | command jq -r .devices[0].uuid)" plain
  grep -q '"nvml0"' plain
  topology held_to_the_budgets_card >card
  cmp plain card
}
