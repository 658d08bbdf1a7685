# SPDX-License-Identifier: Apache-2.0
# Pressure of a lease and of a GPU: how near its memory is to its end.
load lib

lease_is() { [[ $(berth show 1 --json | json pressure) == "$1" ]]; }
device_is() { [[ $(berth status --json | json devices 0 pressure) == "$1" ]]; }
# json KEY...: what lies there in the JSON of stdin.
json() {
  python3 -c "import json, sys
at = json.load(sys.stdin)
for key in sys.argv[1:]: at = at[int(key) if key.isdigit() else key]
print(at)" "$@"
}

@test "a run that nears its budget is told, and shown" {
  berth run -m 4G -- vram_user --bytes 3400MiB --hold 60s >held 2>said 3>&- &
  eventually lease_is critical
  eventually grep -q "berth: lease 1 uses 3.6 GiB of 4.0 GiB" said
  run berth show 1
  contains "pressure"
  contains "critical"
  device_is normal
}

@test "the shares at which it is told are configuration" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[pressure]\nwarn = "20%%"\ncritical = "99%%"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  berth run -m 4G -- vram_user --bytes 1GiB --hold 60s >held 2>said 3>&- &
  eventually lease_is warn
  printf '[pressure]\nwarn = "most"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  run berth config check
  status_is 78
  contains 'pressure.warn: must be a share such as "62%", from 1 to 100 percent'
}

@test "a GPU on which others take what was granted is under pressure" {
  berth run -m 6G -- sleep 60 2>/dev/null 3>&- &
  berth run -m 8G -- sleep 60 2>/dev/null 3>&- &
  held() { [[ $(berth ps --json | json items | grep -o "'held'" | wc -l) == 2 ]]; }
  eventually held
  device_is normal
  local library=$(dirname "$(type -P berth)")/../lib/simgpu
  LD_LIBRARY_PATH=$library vram_user --bytes 3GiB --hold 60s >unmanaged 2>&1 3>&- &
  eventually grep -q holding unmanaged
  eventually device_is warn
  run berth status
  contains "leases may lack memory"
}

@test "a run that nears its budget and can save itself is asked to" {
  berth run -m 4G --checkpoint "cmd:echo \$BERTH_CHECKPOINT_REASON >saved" -- \
    vram_user --bytes 3400MiB --hold 60s >held 2>said 3>&- &
  eventually test -s saved
  grep -qx pressure saved
  told() { [[ $(berth show 1 --json | json checkpoint last reason) == pressure ]]; }
  eventually told
}
