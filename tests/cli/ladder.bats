# SPDX-License-Identifier: Apache-2.0
# Ladders of measures, on real processes: what is done about a lease above its budget.
load lib

configure() { # configure LINE...: before the daemon is there
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '%s\n' "$@" >"$XDG_CONFIG_HOME/berth/config.toml"
}
# measure_is LEASE MEASURE OUTCOME
measure_is() {
  berth show "$1" --json | jq -es "length == 1 and (.[0].measures |
    any(.measure == \"$2\" and .cause == \"over_budget\" and .outcome == \"$3\"))" >/dev/null
}

@test "what is above its budget is told, asked to save itself, suspended, and comes back as it was" {
  configure '[pressure]' 'on_lease_critical = ["notify"]' \
    'over_budget = ["notify", "checkpoint@1s", "suspend@2s"]'
  berth run -m 2G --enforce watchdog --over-budget suspend \
    --checkpoint 'cmd:echo $BERTH_CHECKPOINT_REASON >saved' -- \
    vram_user --bytes 3GiB --hold 8s --verify >held 2>said 3>&- &
  local run=$!
  eventually state_is 1 suspended
  grep -q "above its budget of 2.0 GiB; it is suspended for that unless it uses less soon" said
  grep -qx pressure saved
  eventually measure_is 1 checkpoint confirmed
  eventually measure_is 1 suspend confirmed
  eventually grep -q "lease 1 is to be suspended, because it is above its budget" said
  run berth show 1
  contains "suspend for over_budget: confirmed"
  berth daemon logs -n 50 | grep -q "lease 1 uses .* above its budget of 2.0 GiB: it is suspended"
  run berth resume 1
  status_is 0
  state_is 1 held
  wait "$run" # 0: its pattern was there.
}

@test "a program that listens is asked to clean up, and using less is its answer" {
  ! berth_is_sanitized || skip "Python cannot load a library with a sanitizer in it"
  configure '[pressure]' 'on_lease_critical = ["notify"]' \
    'over_budget = ["notify", "cleanup@1s", "suspend@30s"]'
  cat >listens.py <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from trainer import Driver
import berth

driver = Driver()
model, cache = driver.allocate(1 << 30), driver.allocate(2 << 30)

def cleanup(ask):
    if ask.reason == 'over_budget':
        print('cleanup', flush=True)
        driver.release(cache, 2 << 30)

while True:
    berth.session().serve(timeout=1, cleanup=cleanup)
PY
  berth run -m 2G --enforce watchdog --over-budget suspend --checkpoint library -- \
    python3 listens.py "$PYTHONPATH/../examples/python" >held 2>said 3>&- &
  eventually measure_is 1 cleanup confirmed
  grep -qx cleanup held
  state_is 1 held
  run berth show 1
  contains "cleanup for over_budget: confirmed, 2.0 GiB were given back"
}

@test "a measure that is not possible is told, and the next one is taken" {
  configure '[pressure]' 'over_budget = ["notify", "checkpoint@1s", "suspend@2s"]'
  berth run -m 2G --enforce watchdog --over-budget suspend -- \
    vram_user --bytes 3GiB --hold 60s >held 2>said 3>&- &
  eventually grep -q "lease 1: checkpoint is not possible: lease 1 was started without --checkpoint" said
  eventually state_is 1 suspended
  measure_is 1 checkpoint refused
}

@test "a driver that cannot suspend is a failure that is told, and the lease runs on" {
  export BERTH_SIM=1x16GiB,cuda=12.0
  configure '[pressure]' 'over_budget = ["notify", "suspend@1s"]'
  berth run -m 2G --enforce watchdog --over-budget suspend -- \
    vram_user --bytes 3GiB --hold 60s >held 2>said 3>&- &
  eventually measure_is 1 suspend failed
  eventually grep -q "lease 1: suspend failed: .*cannot move memory to the host" said
  state_is 1 held
}

@test "a ladder that makes no sense is an error with its place" {
  configure '[pressure]' 'over_budget = ["notify", "suspend@60s", "checkpoint@90s"]'
  run berth config check
  status_is 78
  contains "config.toml:2:15: pressure.over_budget: has 'checkpoint' after 'suspend'"
  configure '[pressure]' 'on_lease_critical = ["notify", "kill@60s"]'
  run berth config check
  status_is 78
  contains "pressure.on_lease_critical: a lease inside its budget harms nobody"
}
