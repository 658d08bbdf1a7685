#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cost of a checkpoint of half a gigabyte: the save that is waited for beside dd with fsync to
# the same disk, and the stall of a step beside that save. Rounds are taken in turn, so that what
# else the disk does meets all. Where python3-torch is installed, torch.save stands beside them.
set -euo pipefail
mib=512
rounds=5
mkdir -p build
folder=$(mktemp -d "$PWD/build/bench-checkpoint.XXXXXX")
trap 'rm -rf "$folder"' EXIT

seconds() { # seconds COMMAND...
  local start end
  start=$(date +%s%N)
  "$@" >/dev/null 2>&1
  end=$(date +%s%N)
  awk "BEGIN { print ($end - $start) / 1e9 }"
}
median() { sort -g "$1" | sed -n "$(((rounds + 1) / 2))p"; }
row() { # row NAME VALUE UNIT [FIELDS]
  printf '{"name":"%s","value":%s,"unit":"%s"%s}\n' "$1" "$2" "$3" "${4:+,$4}"
}

head -c "${mib}M" /dev/urandom >"$folder/source" # Zeros would be less than a disk has to do.
for ((round = 0; round < rounds; round++)); do
  seconds dd if="$folder/source" of="$folder/copy" bs=1M conv=fsync >>"$folder/dd"
  rm "$folder/copy"
  read -r save stall < <("$build_dir/bin/bench_checkpoint_writer" "$folder/run" "$mib")
  rm -r "$folder/run"
  echo "$save" >>"$folder/save"
  echo "$stall" >>"$folder/stall"
done
row "dd with fsync, $mib MiB" "$(median "$folder/dd")" s
# 80 % of its speed is 1.25 times its time.
row "checkpoint, $mib MiB" "$(median "$folder/save")" s \
  "\"against\":\"dd with fsync, $mib MiB\",\"ratio_limit\":1.25"
row "stall of a step, $mib MiB" "$(median "$folder/stall")" s \
  "\"against\":\"checkpoint, $mib MiB\",\"ratio_limit\":0.1"

if python3 -c 'import torch' 2>/dev/null; then
  python3 - "$folder/torch" "$mib" <<'PYTHON'
import json, os, sys, time, torch
path, mib = sys.argv[1], int(sys.argv[2])
tensors = {f'layer.{i}': torch.rand(mib * 2 ** 20 // 64) for i in range(16)}
times = []
for _ in range(5):
    start = time.monotonic()
    with open(path, 'wb') as stream:
        torch.save(tensors, stream)
        stream.flush()
        os.fsync(stream.fileno())
    times.append(time.monotonic() - start)
print(json.dumps({'name': f'torch.save with fsync, {mib} MiB', 'value': sorted(times)[2],
                  'unit': 's', 'against': f'dd with fsync, {mib} MiB'}))
PYTHON
else
  echo "bench: checkpoint: python3-torch is not installed, torch.save is not compared" >&2
fi
