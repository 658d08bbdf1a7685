#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Output for programs: the same fields under the same names in each format, and as promised in
# share/openapi.json.
load lib

has_state() { [[ $(berth ps "$1" --fields state --no-header -o tsv 2>/dev/null) == "$2" ]]; }
# Not only granted: its command has started.
taken_up() { [[ $(berth show "$1" --json | jq .pid) == [1-9]* ]]; }
# One lease that holds and uses memory, one request that waits, one that has ended.
some_leases() {
  berth run -q -m 1G -n ended -t team=a -- sh -c 'exit 3' || true
  berth run -q -m 8G -n held --eta 10m --limit 1h -p high -- vram_user --bytes 1GiB --hold 1000s \
    >"$world/held" 2>&1 3>&- &
  eventually grep -q holding "$world/held"
  berth run -q -m 10G -n waiting -- true 3>&- &
  eventually has_state waiting waiting
  eventually used
}
# As of a look at the device after the program had all it takes.
used() {
  (($(berth ps held -o tsv --fields vram_used_bytes --no-header 2>/dev/null || echo 0) > 1 << 30))
}

# agree VERB...: all formats of this verb say the same, as read by what reads such formats.
agree() {
  berth "$@" --json >"$world/json" 2>/dev/null
  berth "$@" -o ndjson >"$world/ndjson" 2>/dev/null
  berth "$@" --csv >"$world/csv" 2>/dev/null
  berth "$@" -o tsv >"$world/tsv" 2>/dev/null
  /usr/bin/python3 - "$world" <<'PY'
import csv, json, sys
place = sys.argv[1] + '/'
whole = json.load(open(place + 'json'))
items = whole.get('items') or whole.get('devices') if 'items' in whole or 'devices' in whole \
    and whole.get('schema') == 'berth/status/v1' else [whole]
lines = [json.loads(line) for line in open(place + 'ndjson')]
assert len(lines) == len(items), (len(lines), len(items))
rows = list(csv.DictReader(open(place + 'csv', newline=''), strict=True))
table = [line.rstrip('\n').split('\t') for line in open(place + 'tsv')]
assert len(rows) == len(items) and len(table) == len(items) + 1
# What changes from one look to the next.
moving = ('time', 'sample_age_ms', 'waited_ms', 'simulated', 'expected_end', 'expected_start',
          'devices', 'vram_used_bytes', 'vram_peak_bytes', 'vram_ledger_bytes', 'counts', 'probe', 'journal',
          'shortages', 'holders')
# `simulated` is said of the whole where the daemon does not say it of each.
for line, row, cells in zip(lines, rows, table[1:]):
    fields = [name for name in line if name in row]
    assert list(row) == table[0] and len(cells) == len(table[0]), (list(row), table[0])
    assert set(row) <= set(line) | {'simulated'}, set(row) - set(line)
    for name, cell in zip(table[0], cells):
        value = line[name]
        if name in moving or isinstance(value, (bool, list, dict)):
            continue
        text = '' if value is None else str(value)
        escaped = text.replace('\\', '\\\\').replace('\t', '\\t')
        assert row[name] == text and cell in (text, escaped), (name, cell, row[name], value)
for line, item in zip(lines, items):
    for name in set(line) - set(moving):
        assert line[name] == item[name], (name, line[name], item[name])
PY
}

@test "all formats of all verbs say the same" {
  some_leases
  for words in "ps" "ps -a" "status" "queue" "show held" "show ended" "why waiting" "fit 1G" \
    "version" "daemon status" "config show"; do
    # shellcheck disable=SC2086
    agree $words || { echo "berth $words"; return 1; }
  done
  berth doctor --json | jq -e '.items | length > 3'
  [[ $(berth doctor --csv | head -1) == $'group,check,level,fact,consequence,cure\r' ]]
}

@test "ps --json has the fields of the contract in each item, null where unknown" {
  some_leases
  berth ps -a --json >all
  for field in id name state vram_granted_bytes vram_used_bytes devices pid user started \
    expected_end result; do
    jq -e --arg f "$field" 'all(.items[]; has($f))' all >/dev/null || { echo "$field"; return 1; }
  done
  jq -e '[.items[] | select(.name == "waiting")][0] | .vram_granted_bytes == null and
    .vram_used_bytes == null and .pid == null and .started == null and .result == null' all
  jq -e '[.items[] | select(.name == "held")][0] | .vram_granted_bytes == 8589934592 and
    .vram_used_bytes > 1073741824 and .pid > 1 and .priority == "high" and
    (.expected_end | test("Z$"))' all
  jq -e '[.items[] | select(.name == "ended")][0] | .result == "failed" and .exit_code == 3 and
    .labels.team == "a"' all
}

@test "daemon status --json carries the pid of the daemon" {
  berth daemon start
  pid=$(berth daemon status --json | jq .pid)
  [[ $(<"/proc/$pid/comm") == berthd ]]
  [[ $(berth daemon status -o tsv --fields pid --no-header 2>/dev/null) == "$pid" ]]
}

@test "answers are as the OpenAPI file says" {
  some_leases
  socket=$(berth daemon status --json | jq -r .socket)
  mkdir answers
  while read -r schema path; do
    curl -sS --unix-socket "$socket" "http://localhost$path" >"answers/$schema"
  done <<'ROWS'
Health /healthz
Version /v1/version
Daemon /v1/daemon
Status /v1/status
DeviceList /v1/devices
Queue /v1/queue
LeaseList /v1/leases?all=1
Lease /v1/leases/held
Why /v1/leases/waiting/why
Error /v1/leases/none
ROWS
  curl -sS --unix-socket "$socket" http://localhost/v1/fit -d '{"vram_bytes":1073741824}' >answers/Fit
  curl -sS --unix-socket "$socket" http://localhost/v1/openapi.json >file.json
  /usr/bin/python3 - <<'PY'
import json, os
import jsonschema
file = json.load(open('file.json'))
checker = jsonschema.Draft202012Validator
for name in os.listdir('answers'):
    schema = {'$ref': '#/components/schemas/' + name, 'components': file['components']}
    checker(schema).validate(json.load(open('answers/' + name)))
assert len(os.listdir('answers')) == 11
PY
}

@test "fields are chosen by name, in the order asked for, in each format" {
  some_leases
  run --separate-stderr berth ps --fields state,id -o json
  jq -e '.items[0] == {"state":"held","id":2} and .schema == "berth/ps/v1"' <<<"$output"
  run --separate-stderr berth ps --fields state,id -o csv
  [[ ${lines[0]} == $'state,id\r' && ${lines[1]} == $'held,2\r' ]]
  run --separate-stderr berth ps --fields state,id -o tsv
  [[ ${lines[0]} == $'state\tid' && ${lines[1]} == $'held\t2' ]]
  run --separate-stderr berth ps --fields state,id -o table --no-header
  [[ ${lines[0]} == "held     2" ]]
  run berth ps --fields id,stat
  status_is 64
  contains "did you mean state?"
  for words in "ps -o xml" "ps --fields" "why waiting --fields nothing"; do
    # shellcheck disable=SC2086
    run berth $words
    [[ $status == 64 ]] || { echo "$words: $status"; return 1; }
  done
}

@test "cells survive tabs, line ends, quotes and commas in what others named" {
  berth run -q -m 1G -n 'a,"b"' -- sh -c 'sleep 1000' $'tab\there' 3>&- &
  eventually taken_up 1
  # Control characters cannot be in a name; in a command they are made harmless.
  agree ps
  [[ $(berth ps --csv --fields name --no-header 2>/dev/null) == $'"a,""b"""\r' ]]
  [[ $(berth ps -o tsv --no-header 2>/dev/null | wc -l) == 1 ]]
}

@test "-q is ids alone, and empty lists are empty" {
  some_leases
  [[ $(berth ps -a -q | sort | xargs) == "1 2 3" && $(berth queue -q) == 3 ]]
  [[ $(berth status -o ids 2>/dev/null) == GPU-* ]]
  berth cancel waiting held
  [[ -z $(berth ps -q) && -z $(berth queue -q 2>/dev/null) ]]
  [[ $(berth queue --json | jq -c .items) == "[]" ]]
  [[ $(berth queue --csv --fields id 2>/dev/null) == $'id\r' ]]
  [[ -z $(berth queue -o ndjson 2>/dev/null) ]]
}

@test "data goes to stdout, talk to stderr" {
  berth daemon start
  for words in "ps --json" "status --csv" "queue -o tsv" "config show --json" "version --json"; do
    # shellcheck disable=SC2086
    run --separate-stderr berth $words
    [[ $output != *"berth: "* ]]
  done
  run --separate-stderr berth show none
  [[ -z $output && -n $stderr ]]
}

# Command lines come from anybody, and so do the escape sequences in them.
@test "on a terminal no form of output steers it, and a pipe gets what was said" {
  esc=$'\e'
  berth run -q -m 1G -n evil -- sh -c 'sleep 60' "${esc}]0;owned"$'\a\xe2\x80\xae' 3>&- &
  eventually has_state evil held
  raw=$(berth ps evil --csv --no-header --fields command)
  [[ $raw == *"${esc}]0;owned"$'\a\xe2\x80\xae'* ]]
  for form in csv tsv json ndjson table; do
    script -qec "stty -opost; berth ps evil -o $form --fields command --color=never" /dev/null </dev/null >"$world/shown"
    grep -q "owned" "$world/shown" || { cat "$world/shown"; return 1; }
    ! grep -q "$esc\|"$'\a\|\xe2\x80\xae' "$world/shown" || { echo "$form"; cat -v "$world/shown"; return 1; }
  done
}

# error_is WORD: what was printed is one error, and JSON; what is said to people is the same.
error_is() {
  [[ $(jq -r .error.code <<<"$output") == "$1" ]] || { echo "$output"; return 1; }
  [[ $stderr == *"$(jq -r .error.message <<<"$output")"* ]]
  [[ -n $(jq -r '.error.cure // ""' <<<"$output") ]]
}

@test "who asks for JSON gets errors as JSON too, with a word, a sentence and a cure" {
  berth daemon start
  run --separate-stderr berth show 99 --json
  status_is 66
  error_is not_found
  run --separate-stderr berth ps -o ndjson --no-such-option
  status_is 64
  error_is usage
  berth reserve 1h -q -x
  run --separate-stderr berth reserve 1h --json -m 1G --no-wait
  status_is 75
  error_is busy
  run --separate-stderr berth reserve 1h --json -m 1000G
  status_is 64
  error_is never_fits
  berth daemon stop
  run --separate-stderr berth ps --json --no-autostart
  status_is 69
  error_is unavailable
}

@test "errors are not printed on stdout for people, nor in other forms" {
  berth daemon start
  for form in table csv tsv ids; do
    run --separate-stderr berth show 99 -o $form
    status_is 66
    [[ -z $output && -n $stderr ]]
  done
}
