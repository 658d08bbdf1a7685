# SPDX-License-Identifier: Apache-2.0
# berth-train as several processes, each with its share of every batch.
load ../cli/lib

setup() {
  world_up
  seq 1 20000 >text
  port=$(python3 -c 'import socket
with socket.socket() as one:
    one.bind(("127.0.0.1", 0))
    print(one.getsockname()[1])')
}

# rank K KEYS...: one process of two.
rank() {
  local of=$1
  shift
  RANK=$of WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port train "$@"
}
train() {
  exec berth-train --run.text text --run.threads 1 --data.rows 4 --data.columns 32 \
    --predict.mode off --validate.every 0 "$@"
}
# start K KEYS...: rank K beside this test, with the same folder as the other.
start() {
  rank "$1" --rate.steps 1000000 --run.folder out "${@:2}" >"summary$1" 2>"said$1" 3>&- &
  pids[$1]=$!
}
steps() { grep -c '"step":' out/metrics.ndjson; }
trains() { (($(steps) > 5)); } 2>/dev/null
# both_train KEYS...: both ranks, until they have made some steps.
both_train() {
  start 0 "$@"
  start 1 "$@"
  patience=40 eventually trains
}
# ends K STATUS: waits for that rank, and it ends with that status.
ends() {
  local code=0
  wait "${pids[$1]}" || code=$?
  [[ $code == "$2" ]]
}
losses() { jq -r 'select(.phase != null) | .loss' "$1/metrics.ndjson"; }

@test "two processes with half of each batch learn as one with the whole" {
  rank 1 --rate.steps 12 --run.folder two >quiet 2>&1 3>&- &
  local other=$!
  (rank 0 --rate.steps 12 --run.folder two) >summary
  wait "$other"
  [[ ! -s quiet ]] || { cat quiet; return 1; }
  grep -q "12 steps" summary
  (train --rate.steps 12 --run.folder one) >/dev/null
  [[ $(losses two | wc -l) == 12 ]]
  paste <(losses two) <(losses one) | awk '{ d = $1 - $2; if (d * d > 1e-6) exit 1 }'
}

@test "any process is told to stop: all save once and end" {
  both_train
  kill -INT "${pids[1]}"
  ends 0 130
  ends 1 130
  grep -q "saved in out/checkpoints/" summary0
  local saved=(out/checkpoints/*.safetensors)
  ((${#saved[@]} == 1))
  rm out/metrics.ndjson
  both_train --resume
  kill -INT "${pids[0]}"
  ends 0 130
  grep -q "going on from out/checkpoints/" said0
}

@test "when a process is lost the first saves, and all end with the reason" {
  both_train
  kill -KILL "${pids[1]}"
  ends 0 1
  grep -q "rank 0 of 2: another process is lost: .*; saved in out/checkpoints/" said0
  rm out/metrics.ndjson
  train --rate.steps 1000000 --run.folder out --resume >summary0 2>said0 3>&- &
  pids[0]=$!
  patience=40 eventually trains
  kill -INT "${pids[0]}"
  ends 0 130
  grep -q "going on from out/checkpoints/emergency" said0
}

@test "when the first is lost another takes its place and saves" {
  both_train
  kill -KILL "${pids[0]}"
  ends 1 1
  grep -q "rank 1 of 2: another process is lost: .*; saved in out/checkpoints/" said1
  [[ -n $(ls out/checkpoints) ]]
}

@test "what decides no weight may differ: one offloads and would wait for its saves, the other not" {
  start 0 --checkpoint.every 3 --optimizer.offload always --rate.steps 40
  start 1 --checkpoint.every 3 --checkpoint.background false --rate.steps 40
  ends 0 0
  ends 1 0
  [[ -n $(ls out/checkpoints) ]]
}

@test "processes that do not begin alike are told so" {
  start 0
  start 1 --run.seed 7
  ends 0 1
  ends 1 1
  grep -q "the processes do not begin alike" said0 said1
}

@test "what one of them cannot read ends all" {
  start 0
  start 1 --run.text absent
  ends 0 1
  grep -q "rank 0 of 2: another process has failed, and says why" said0
  ends 1 1
  grep -q "absent" said1
}

@test "an environment that contradicts itself is refused" {
  RANK=2 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 run train --rate.steps 2
  status_is 64
  contains "RANK is 2, but WORLD_SIZE is 2"
  RANK=0 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 run train --rate.steps 2
  status_is 1
  contains "4 rows cannot be dealt out evenly to 3 processes"
}
