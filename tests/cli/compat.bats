#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Journals that earlier daemons left behind (tests/compat): the daemon of this build finds each lease
# and each place in the queue, under each policy; one of a later release it leaves alone.
load lib

setup() {
  world_up
  mkdir "$world/config/berth"
  berth daemon start
  state=$(berth daemon status --json | jq -r .state_dir)
  device=$(berth status --json | jq -r '.devices[0].uuid')
  berth daemon stop
  compat=$BATS_TEST_DIRNAME/../compat
}

# journal DUMP [VERSION]: in the place of the one that is there. Its processes end with the world.
journal() {
  rm -f "$state"/leases.* # Its `starts` stays: this boot has had a daemon.
  python3 "$compat/load_journal.py" "$1" "$state/leases.db" "$device" "${@:2}" 3>&-
}
kill_daemon() {
  local pid=$(berth daemon status --json | jq .pid)
  kill -9 "$pid"
  eventually has_ended "$pid"
}
# The process that adopted it may not have reaped it yet.
has_ended() { [[ ! -e /proc/$1 || $(<"/proc/$1/stat") == *") Z "* ]]; }
leases() {
  berth ps -a --csv --fields id,name,state,result,exit_code,exit_signal,vram_granted_bytes,priority,share,flags,session \
    2>/dev/null | tr -d '\r'
}
queue() { berth queue -q 2>/dev/null | xargs; }

@test "each stored journal is recovered under each policy: the same leases, the same queue" {
  for dump in "$compat"/journal-*.sql; do
    while read -r policy order; do
      echo "policy.order = \"$policy\"" >"$world/config/berth/config.toml"
      journal "$dump"
      berth daemon start
      diff "${dump%.sql}.leases" <(leases)
      [[ $(queue) == "$order" ]] || { echo "$dump, $policy: $(queue)"; return 1; }
      # What this daemon writes of it, the next one reads.
      kill_daemon
      diff "${dump%.sql}.leases" <(leases)
      [[ $(queue) == "$order" ]]
      berth daemon stop
    done <"${dump%.sql}.queues"
  done
}

@test "recovered leases count: their memory, their processes, their numbers and handles" {
  journal "$compat/journal-1.sql"
  [[ $(berth status --json | jq .devices[0].vram_granted_bytes) == $((10 << 30)) ]]
  [[ $(berth show held-limit --json | jq -r .limit_ms) == 36000000 ]]
  [[ $(berth show held-budget --json | jq -r '.labels.team + .expected_end') == vision20*Z ]]
  pid=$(berth show held-budget --json | jq .pid)
  [[ $(<"/proc/$pid/comm") == sleep ]]
  run berth run -q -m 4G -n next --no-wait -- true
  status_is 75 # Behind those that wait.
  run berth reserve 1h -q -m 12G --wait=10ms
  [[ $(berth ps @last -a -q) == 13 ]]
  # The lease ends with its process, as it would have under the daemon that granted it.
  kill "$pid"
  ended() { [[ $(berth show held-budget --json | jq -r .state) == ended ]]; }
  eventually ended
}

@test "a journal of a later release is refused, named, and left as it is" {
  journal "$compat/journal-1.sql" 99
  before=$(sha256sum "$state/leases.db")
  run berth daemon start
  ((status != 0))
  contains "$state/leases.db"
  contains "99"
  run berth run -m 1G -- touch started
  ((status != 0))
  [[ ! -e started && $(sha256sum "$state/leases.db") == "$before" ]]
  compgen -G "$state/leases.db.*" | grep -v -e -wal -e -shm && return 1
  # The release that wrote it has lost nothing.
  python3 -c 'import sqlite3, sys
journal = sqlite3.connect(sys.argv[1])
journal.execute("PRAGMA user_version = 1")' "$state/leases.db"
  berth daemon start
  diff "$compat/journal-1.leases" <(leases)
}

@test "a damaged journal is moved aside, named in the log and by doctor, and never lost" {
  journal "$compat/journal-1.sql"
  dd if=/dev/urandom of="$state/leases.db" bs=100 seek=1 count=40 conv=notrunc status=none
  before=$(sha256sum <"$state/leases.db")
  berth daemon start
  aside=$(compgen -G "$state/leases.db.*.corrupt*" || compgen -G "$state/*corrupt*")
  [[ $(sha256sum <"$aside") == "$before" ]]
  run berth daemon logs -n 100
  contains "$state/leases.db was moved to ${aside##*/}"
  run berth doctor
  contains "$aside"
  [[ $(berth ps -q) == "" ]]
}
