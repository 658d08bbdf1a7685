# SPDX-License-Identifier: Apache-2.0
# berth-train and the lease it has: of its own, and that of `berth run`.
load ../cli/lib

setup() {
  world_up
  seq 1 20000 >text
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[pressure]\nover_budget = ["notify", "cleanup@1s"]\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  berth status >/dev/null # A trainer starts no daemon.
}

# train KEYS...: a run that takes longer than any test.
train() {
  berth-train --run.text text --run.threads 1 --rate.steps 1000000 --predict.mode off \
    --validate.every 0 --data.rows 2 "$@"
}
told() {
  berth show "$1" --json | jq -e '.progress.done > 0 and .progress.total == 1000000'
} &>/dev/null

@test "a run takes a lease of its own, tells how far it is, and saves itself when it is asked" {
  train --run.folder out --lease.vram 1GiB >summary 2>said 3>&- &
  local run=$!
  patience=30 eventually told berth-train
  berth show berth-train --json | jq -e ".vram_granted_bytes == 1073741824"
  run berth checkpoint berth-train
  status_is 0
  [[ -n $(ls out/checkpoints) ]]
  berth show berth-train --json | jq -e '.checkpoint.last.outcome == "saved"'
  kill -INT "$(of berth-train pid)"
  local code=0
  wait "$run" || code=$?
  [[ $code == 130 ]]
  grep -q -- "--resume goes on" summary
  gone() { ! berth show berth-train --json | grep -q '"held"'; }
  eventually gone
}

@test "a run whose lease is taken away saves itself and ends" {
  train --run.folder out --lease.vram 1GiB >summary 2>said 3>&- &
  local run=$!
  patience=30 eventually told berth-train
  berth cancel berth-train
  local code=0
  wait "$run" || code=$?
  [[ $code == 130 ]]
  grep -q "saved in out/checkpoints/" summary
}

@test "a run that waits for its lease is told of by why, and one that may not wait says so" {
  berth run -q -m 14G -n holder -- vram_user --bytes 1GiB --hold forever >holder 2>&1 3>&- &
  eventually grep -q holding holder
  run train --lease.vram 12GiB --lease.wait_minutes 0.001
  status_is 1
  contains "there is no lease"
  train --lease.vram 12GiB >summary 2>said 3>&- &
  waits() { berth why berth-train | grep -q holder; }
  eventually waits
  berth cancel holder
  patience=30 eventually told berth-train
  berth cancel berth-train
}

@test "under berth run it needs no lease of its own, and is asked through the library" {
  berth run -q -m 2G -n outer --checkpoint library -- \
    berth-train --run.text text --run.threads 1 --rate.steps 1000000 --predict.mode off \
    --validate.every 0 --data.rows 2 --run.folder out >summary 2>said 3>&- &
  patience=30 eventually told outer
  run berth checkpoint outer
  status_is 0
  [[ -n $(ls out/checkpoints) ]]
  berth cancel outer
}

@test "a run that is asked for memory gives back what its optimizer keeps, and goes on" {
  berth run -q -m 2G -n outer --enforce watchdog --over-budget suspend --checkpoint library -- \
    sh -c 'vram_user --bytes 3GiB --hold forever & exec berth-train "$@"' run \
    --run.text text --run.threads 1 --rate.steps 1000000 --predict.mode off \
    --validate.every 0 --data.rows 2 --run.folder out >summary 2>said 3>&- &
  patience=30 eventually grep -q "asked for memory: from here on" said
  told outer
  berth cancel outer
}

@test "without a folder a save that is asked for fails, and says why" {
  berth run -q -m 2G -n outer --checkpoint library -- \
    berth-train --run.text text --run.threads 1 --rate.steps 1000000 --predict.mode off \
    --validate.every 0 --data.rows 2 >summary 2>said 3>&- &
  patience=30 eventually told outer
  run berth checkpoint outer
  status_is 1
  contains "run.folder is not set"
  berth cancel outer
}
