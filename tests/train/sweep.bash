# SPDX-License-Identifier: Apache-2.0
# A sweep of sixty trainers by --grid, each of which holds memory of the simulated card meanwhile:
# its terminal is closed, its keeper and its daemon are killed, one member always fails, and one
# runs out of memory. For bats files that `load sweep`, and say in `steps` and `columns` how long
# each trains on how much, and in `within` how many seconds all of them may take.
load ../cli/lib

setup() {
  world_up
  seq 1 20000 >text
  export steps columns
  cat >member <<'M'
#!/bin/bash
# member LR ROWS SEED: so many steps of training beside memory of the card.
set -u
echo "$*" >>runs
[[ $* != "1e-4 4 5" || -e mended ]] || { echo "this one fails"; exit 3; }
size=512MiB
[[ $* != "1e-3 1 1" || -e mended ]] || size=3GiB
folder="out/$1-$2-$3"
mkdir -p "$folder"
vram_user --bytes "$size" --hold forever >"$folder/card" 2>&1 &
card=$!
until grep -q holding "$folder/card"; do
  kill -0 "$card" 2>/dev/null || { cat "$folder/card"; exit 1; } # For want of memory.
  sleep 0.05
done
berth-train --run.text text --run.folder "$folder" --run.threads 1 --run.seed "$3" \
  --rate.rate "$1" --rate.steps "$steps" --data.rows "$2" --data.columns "$columns" \
  --predict.mode off --validate.every 0
code=$?
kill "$card"
exit "$code"
M
  chmod +x member
}

jobs() { echo "$XDG_STATE_HOME"/berth/*/sim/*/jobs; }
grid=(--grid lr=1e-3,3e-4,1e-4 --grid rows=1,2,3,4 --grid seed=1,2,3,4,5)
of_set() { of "$1" "set.$2"; }
has_ended() { (($(of_set 1 ended) >= $1)); }
is_over() { [[ $(of "$1" state) == ended ]]; }
process_gone() { ! kill -0 "$1" 2>/dev/null; }
kill_keeper() {
  local pid
  pid=$(cat "$(jobs)/keeper.lock")
  kill -KILL "$pid"
  eventually process_gone "$pid"
}

# sweep_outlives_all: its terminal, its keeper and its daemon; and what failed is resumed.
sweep_outlives_all() {
  cat >submit <<E
berth submit -m 2G -n sweep ${grid[*]} -- ./member {lr} {rows} {seed}
sleep 60 # Its terminal is gone before that.
E
  expect <<'E'
log_user 0
spawn sh ./submit
expect -re "1\r\n"
close
wait
E
  patience=$within eventually has_ended 5
  kill_keeper
  berth ps >/dev/null # The next verb starts another one.
  patience=$within eventually has_ended 20
  kill -KILL "$(berth daemon status --json | jq .pid)"
  berth ps >/dev/null
  patience=$within eventually has_ended 35
  kill_keeper
  berth ps >/dev/null
  patience=$within eventually is_over 1
  run berth show 1
  contains "of its 60 members 60 have ended (2 not well)"
  [[ $(of_set 1 failed) == 2 && $(of 1 result) == failed ]]
  [[ $(sort runs | uniq -d | wc -l) == 0 && $(wc -l <runs) == 60 ]]
  [[ $(of 1.60 result) == failed && $(of 1.60 exit_code) == 3 ]]
  grep -q "this one fails" <(berth logs 1.60)
  [[ $(of 1.1 result) == failed ]]
  grep -qi "out of memory" <(berth logs 1.1)
  [[ $(ls out/*/metrics.ndjson | wc -l) == 58 ]]
  local member
  for member in 1e-3-1-2 3e-4-2-5 1e-4-4-4; do
    tail -n 1 "out/$member/metrics.ndjson" | jq -e '.summary.validation_loss > 0'
  done

  touch mended
  run berth submit -q -m 4G -n sweep "${grid[@]}" --resume 1 -- ./member '{lr}' '{rows}' '{seed}'
  local second=${lines[-1]}
  [[ $(of "$second" members) == 2 ]]
  run berth wait "$second"
  status_is 0
  [[ $(tail -n 2 runs | sort | tr '\n' ';') == "1e-3 1 1;1e-4 4 5;" ]]
  run berth submit -q -m 4G -n sweep "${grid[@]}" --resume "$second" -- \
    ./member '{lr}' '{rows}' '{seed}'
  status_is 0
  contains "nothing is submitted"
  [[ $(wc -l <runs) == 62 && $(ls out/*/metrics.ndjson | wc -l) == 60 ]]
}
