#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The past: figures of GPUs, leases and processes, and what became of leases.
load lib

gib=$((1 << 30))
# job NAME: a lease of 4 GiB whose program uses 1 GiB, until it is cancelled.
job() {
  berth run -q -m 4G -n "$1" -- vram_user --bytes 1GiB --hold 1000s >"$world/$1" 2>&1 3>&- &
  eventually grep -q holding "$world/$1"
}
# seen NAME: the past tells of the memory that this lease uses.
seen() {
  berth history --of lease --json | jq -e --arg name "$1" --argjson least "$gib" \
    'any(.items[]; .name == $name and .figure == "used" and .vram_max_bytes > $least)' >/dev/null
}
session_of() { berth history --sessions --json | jq ".items[] | select(.name == \"$1\")"; }
ended_as() { [[ $(session_of "$1" | jq -r .result) == "$2" ]]; }

@test "history tells of GPUs, leases and processes" {
  job train
  eventually seen train
  berth history --json | jq -e '.schema == "berth/history/v1" and .step_ms == 60000 and
    all(.items[]; .of == "device" and .index == 0 and .lease == null) and
    ([.items[].figure] | unique) == ["granted", "unmanaged", "used"]'
  berth history --of process --step 1s --json | jq -e '.step_ms == 1000 and
    any(.items[]; .lease == 1 and .name == "vram_user" and .pid > 1 and .known_ms >= 1000)'
  berth history --lease train --json | jq -e 'all(.items[]; .lease == 1) and
    ([.items[].of] | unique) == ["lease", "process"]'
  run berth history --lease train
  status_is 0
  contains "lease 1 train"
  contains "process "
  contains "a column is 1m"
}

@test "what was seen a moment ago is told, and nothing is told of other times" {
  job train
  eventually seen train
  run berth history --since 2026-01-01T00:00:00.000Z --until 2026-01-02T00:00:00.000Z
  status_is 0
  contains "No data for this period."
  run berth history --lease 77
  contains "No data for this period."
}

@test "sessions tell what became of a lease, and what it did not use" {
  job train
  used() { [[ $(session_of train | jq .vram_unused_mib_seconds) -gt 3000 ]]; }
  eventually used
  session_of train | jq -e '.ended == null and .result == null and .device_count == 1 and
    .vram_granted_bytes == 4294967296 and .vram_peak_bytes > 1073741824 and .known_ms > 0'
  berth cancel train
  eventually ended_as train cancelled
  session_of train | jq -e '.held_ms == .gpu_ms and .gpu_ms > 0 and (.ended | test("Z$"))'
  run berth history --sessions
  status_is 0
  contains "1 lease: 0.0"
  contains "GiB hours granted and not used"
}

@test "a lease of which no figure was ever seen is told of too" {
  berth run -q -m 1G -n short -- true
  ended_ok() { ended_as short ok; }
  eventually ended_ok
}

@test "a daemon that is stopped or killed leaves the past to the next" {
  job train
  eventually seen train
  berth daemon stop
  seen train
  # What the next one has seen is written when a client asks, at the latest.
  berth history --json >/dev/null
  kill -9 "$(berth daemon status --json | jq .pid)"
  eventually seen train
  berth cancel train
  eventually ended_as train cancelled
}

@test "export is CSV as RFC 4180 has it" {
  job 'a,"b"'
  eventually seen 'a,"b"'
  berth export --of lease >out.csv 2>/dev/null
  /usr/bin/python3 - <<'PY'
import csv
text = open('out.csv', newline='').read()
assert text.count('\r\n') == text.count('\n') > 1, text
rows = list(csv.DictReader(open('out.csv', newline=''), strict=True))
assert {row['name'] for row in rows} == {'a,"b"'}, rows
assert {row['figure'] for row in rows} == {'used', 'granted'}, rows
for row in rows:
    assert row['time'].endswith('Z') and row['pid'] == '', row
    assert int(row['vram_min_bytes']) <= int(row['vram_mean_bytes']) <= int(row['vram_max_bytes'])
PY
  run --separate-stderr berth export --csv --fields time,vram_max_bytes --no-header
  [[ ${lines[0]} =~ ^20[0-9-]+T[0-9:.]+Z,[0-9]+$'\r'$ ]]
  [[ $stderr == *simulated* ]]
  [[ $(berth export --sessions --fields name,device_count 2>/dev/null | head -1) == \
    $'name,device_count\r' ]]
}

@test "export writes what loops around nvidia-smi wrote" {
  job train
  # One line a second, in MiB.
  logged() { berth export --format monitor -g 0 --since 1m | grep -Eq 'Z,1[0-9]{3}$'; }
  eventually logged
  run --separate-stderr berth export --format monitor
  [[ ${lines[0]} == timestamp,memory.used && ${lines[1]} =~ ^20[0-9-]+T[0-9:.]+Z,[0-9]+$ ]]
  run berth export --format monitor --sessions
  status_is 64
}

@test "of several GPUs the old form tells of one" {
  berth daemon start
  sampled() { [[ $(berth history --json | jq '[.items[].uuid] | unique | length') == 1 ]]; }
  eventually sampled
  berth daemon stop
  export BERTH_SIM=2x16GiB BERTH_SIM_NAME=${world##*.}b
  both() { [[ $(berth history --json | jq '[.items[].index] | unique | length') == 2 ]]; }
  eventually both
  berth history --json | jq -e '[.items[].index] | . == sort'
  run berth export --format monitor
  status_is 64
  contains "-g 0"
  run berth export --format monitor -g 1
  status_is 0
  [[ $(berth history -g 1 --json | jq -c '[.items[].index] | unique') == "[1]" ]]
}

@test "what makes no sense is refused" {
  berth daemon start
  for words in "history --of gpu" "history --since yesterday" "history --step 1ms" \
    "history --since 1m --until 1h" "export --format xml" "history surplus" \
    "history --sessions -g 0" "history --sessions --of lease" "export --sessions --step 1m" \
    "export --format monitor --json" "export --format monitor --fields time"; do
    # shellcheck disable=SC2086
    run berth $words
    [[ $status == 64 ]] || { echo "$words: $status: $output"; return 1; }
  done
  run berth history -g 7
  status_is 69
  run berth history --lease nobody
  status_is 66
}

@test "the past can be switched off" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  echo 'history.record = false' >"$XDG_CONFIG_HOME/berth/config.toml"
  run berth history
  status_is 66
  contains "[history] record"
  state=$(berth daemon status --json | jq -r .state_dir)
  [[ ! -e $state/history.db ]]
}

@test "a damaged file is moved aside, and leases are not touched" {
  berth reserve 1h -q -m 1G -n kept
  state=$(berth daemon status --json | jq -r .state_dir)
  written() { berth history --json >/dev/null && [[ -s $state/history.db ]]; }
  eventually written
  berth daemon stop
  head -c 20000 /dev/zero | tr '\0' x >"$state/history.db"
  rm -f "$state"/history.db-*
  berth history --json | jq -e .items
  ls "$state"/history.db.*.corrupt
  [[ $(berth show kept --json | jq -r .state) == held ]]
  berth daemon logs -n 100 | grep 'history.db was moved to'
}

@test "a file that is removed under the daemon is begun anew" {
  job train
  eventually seen train
  state=$(berth daemon status --json | jq -r .state_dir)
  rm "$state/history.db"
  berth history --json >/dev/null
  [[ -s $state/history.db ]]
  eventually seen train
  berth daemon logs -n 100 | grep 'history.db was removed or replaced'
  berth daemon stop
  seen train
}

@test "a daemon that is killed while it writes leaves a file that can be read" {
  job train
  for _ in {1..5}; do
    eventually seen train
    berth history --json >/dev/null & # A question has it written.
    kill -9 "$(berth daemon status --json | jq .pid)"
    wait $! || true
  done
  eventually seen train
  state=$(berth daemon status --json | jq -r .state_dir)
  run ls "$state"
  [[ $output != *corrupt* ]]
  berth history --step 1m --json | jq -e 'all(.items[]; .known_ms <= 60000)'
}

@test "a lease that fills its budget is looked at more often" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  echo 'gpu.sample_interval = "3s"' >"$XDG_CONFIG_HOME/berth/config.toml"
  berth run -q -m 1G -n leak -- vram_user --bytes 700MiB --rate 32MiB --hold 1000s \
    >leak 2>&1 3>&- &
  # Four seconds that follow one another: the usual looks are three seconds apart.
  followed() {
    berth history --lease leak --of lease --step 1s --json |
      jq -e '[.items[] | select(.figure == "used" and .vram_max_bytes > 700000000) | .time[17:19]
        | tonumber] | . as $at | any(range(3; length); . as $i |
        ($at[$i] - $at[$i - 3] + 60) % 60 == 3)' >/dev/null
  }
  patience=40 eventually followed
}

@test "a file of a later release is left alone" {
  berth daemon start
  state=$(berth daemon status --json | jq -r .state_dir)
  written() { berth history --json >/dev/null && [[ -s $state/history.db ]]; }
  eventually written
  berth daemon stop
  # user_version, in the head of the file.
  printf '\0\0\0\7' | dd of="$state/history.db" bs=1 seek=60 conv=notrunc status=none
  sum=$(cksum <"$state/history.db")
  run berth history
  status_is 66
  contains "has format 7"
  berth run -q -m 1G -- true
  [[ $(cksum <"$state/history.db") == "$sum" ]]
}

@test "answers about the past are as the OpenAPI file says" {
  job train
  eventually seen train
  socket=$(berth daemon status --json | jq -r .socket)
  curl -sS --unix-socket "$socket" 'http://localhost/v1/history?step=1s' >Past
  curl -sS --unix-socket "$socket" http://localhost/v1/history/sessions >Sessions
  curl -sS --unix-socket "$socket" http://localhost/v1/openapi.json >file.json
  /usr/bin/python3 - <<'PY'
import json
import jsonschema
file = json.load(open('file.json'))
for name in ('Past', 'Sessions'):
    answer = json.load(open(name))
    assert answer['items'], name
    schema = {'$ref': '#/components/schemas/' + name, 'components': file['components']}
    jsonschema.Draft202012Validator(schema).validate(answer)
PY
}
