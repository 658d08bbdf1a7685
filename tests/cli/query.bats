# SPDX-License-Identifier: Apache-2.0
# `berth query`, which answers as nvidia-smi does.
load lib

csv() { berth query "$@" --format=csv,noheader,nounits; }

@test "figures are those of the driver, with and without a daemon" {
  local uuid
  berth-simctl reserved 0 256MiB
  uuid=$(berth-simctl show | jq -r .devices[0].uuid)
  run berth query --query-gpu=index,uuid,memory.total,memory.used,memory.free --format=csv
  status_is 0
  [[ ${lines[0]} == "index, uuid, memory.total [MiB], memory.used [MiB], memory.free [MiB]" ]]
  [[ ${lines[1]} == "0, $uuid, 16384 MiB, 0 MiB, 16128 MiB" ]]
  [[ $(berth version --json | jq .daemon) == null ]] # It started none.
  berth run -q -m 4G -- vram_user --bytes 1GiB --hold 60s >out 2>&1 3>&- &
  eventually grep -sq holding out
  [[ $(csv --query-gpu=memory.used,memory.reserved,temperature.gpu) == "1324, 256, [N/A]" ]]
  [[ $(berth query -L) == "GPU 0: GPU (simulated) (UUID: $uuid)" ]]
}

@test "programs are listed with what they use" {
  berth run -q -m 4G -- vram_user --bytes 1GiB --hold 60s >out 2>&1 3>&- &
  eventually grep -sq holding out
  local pid
  pid=$(berth-simctl show | jq .devices[0].processes[0].pid)
  [[ $(csv --query-compute-apps=pid,name,used_memory) == "$pid, vram_user, 1324" ]]
  [[ $(berth query --query-compute-apps=pid,used_memory --format=csv | head -n 1) == \
    "pid, used_gpu_memory [MiB]" ]]
  berth-simctl unmanaged 0 500MiB graphics
  [[ $(csv --query-compute-apps=pid) == "$pid" ]] # It draws, and computes nothing.
}

@test "a GPU is as busy as its driver tells" {
  [[ $(csv --query-gpu=utilization.gpu,utilization.memory) == "[N/A], [N/A]" ]]
  berth-simctl utilization 0 87 40
  [[ $(csv --query-gpu=utilization.gpu,utilization.memory) == "87, 40" ]]
}

@test "mistakes end as nvidia-smi's do" {
  run berth query --query-gpu=index,speed --format=csv
  status_is 2
  [[ ${lines[0]} == 'Field "speed" is not a valid field to query.' ]]
  run berth query --query-gpu=index -i 7
  status_is 6
  contains "No devices were found"
  run env BERTH_SIM=nonsense berth query --query-gpu=index
  status_is 9
  run berth query
  status_is 64
  run berth query -L --query-gpu=index
  status_is 64
  run berth query --query-gpu=index --format=xml
  status_is 64
}

@test "a GPU that is lost is told as such, beside one that is not" {
  export BERTH_SIM=2x16GiB BERTH_SIM_NAME=two
  berth-simctl lose 0
  [[ $(csv --query-gpu=index,memory.total) == $'0, [GPU is lost]\n1, 16384' ]]
  local uuid
  uuid=$(csv --query-gpu=uuid -i 1)
  [[ $(csv --query-gpu=index,count -i "$uuid") == "1, 2" ]]
}

@test "in a lease it shows the GPU, or the budget's card where that is told" {
  berth run -q -m 4G -- vram_user --bytes 3GiB --hold 60s >out 2>&1 3>&- &
  eventually grep -sq holding out
  [[ $(berth run -q -m 2G -- berth query --query-gpu=memory.used,memory.total \
    --format=csv,noheader,nounits) == "3372, 16384" ]]
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[policy]\nreport_nvml = "budget"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  berth daemon reload
  [[ $(berth run -q -m 2G -- berth query --query-gpu=memory.used,memory.total \
    --format=csv,noheader,nounits) == "0, 2048" ]]
  [[ $(berth run -q -m 2G -- berth query --query-compute-apps=pid --format=csv,noheader) == "" ]]
}

@test "as nvidia-smi it answers for a simulated GPU alone, and lies in no PATH by itself" {
  local bin
  bin=$(realpath "$(dirname "$(type -P berth)")/../lib/simgpu/bin")
  [[ $(PATH=$bin:$PATH nvidia-smi --query-gpu=memory.total --format=csv,noheader) == "16384 MiB" ]]
  run env -u BERTH_SIM "$bin/nvidia-smi" -L
  status_is 9
  contains "of a simulated GPU"
  [[ ! -e $(dirname "$(type -P berth)")/nvidia-smi ]]
  berth run -q -m 1G -- bash -c 'echo "$PATH"' >path
  fails grep -q simgpu path
}
