# SPDX-License-Identifier: Apache-2.0
# berth-train, killed again and again while it saves itself after each step. `kills` says how often.
load ../cli/lib

setup() {
  world_up
  seq 1 20000 >text
}

train() { (exec_train "$@"); }
exec_train() {
  exec berth-train --run.text text --run.threads 1 --data.rows 2 --data.columns 16 \
    --rate.steps "$steps" --rate.warmup_steps 5 --predict.warmup_steps 10 --predict.full_steps 5 \
    --predict.mode forced --validate.every 0 --checkpoint.every 1 "$@"
}
# saved: the steps of the checkpoints that there are, the newest last.
saved() { ls out/checkpoints 2>/dev/null | sed -nE 's/.*-step-([0-9]+)\.safetensors$/\1/p' | sort -n; }
# goes_on_from: the step at which the last life has begun.
goes_on_from() { sed -nE 's/.*going on from .*step-([0-9]+).*/\1/p' said; }
began_0() { [[ -n $(saved) ]]; }
began_1() { grep -q "going on from" said; }
result() { tail -n 1 "$1/metrics.ndjson" | jq -e .summary.validation_loss; }

@test "a run that is killed again and again loses at most its newest checkpoint, and no bit of its end" {
  local life steps=$((30 * ${kills:=12})) before=() killed=0 run
  train --run.folder whole >summary 2>said
  for ((life = 0; life < kills; ++life)); do
    mapfile -t before < <(saved)
    local resume=()
    [[ ${#before[@]} == 0 ]] || resume=(--resume)
    : >said
    (exec_train --run.folder out "${resume[@]}") >summary 2>said 3>&- &
    run=$!
    patience=30 eventually "began_${#resume[@]}"
    # Of those that are there the newest alone may have been cut off.
    if ((${#before[@]} > 1)); then (($(goes_on_from) >= before[-2])); fi
    sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
    ! kill -9 "$run" || killed=$((killed + 1))
    wait "$run" || true
  done
  ((killed > kills / 2))
  train --run.folder out --resume >summary 2>said
  [[ $(result out) == "$(result whole)" ]]
}
