# SPDX-License-Identifier: Apache-2.0
# Two accounts of a lease's memory: what its programs have charged, and what the driver counts.
load lib

# part FIELD: of the one GPU of lease 1; "None" where it is not known.
part() {
  berth show 1 --json | python3 -c "import json, sys
print(json.load(sys.stdin)['devices'][0]['$1'])"
}
is() { [[ $(part "$1") == "$2" ]]; }

gib=$((1 << 30))

@test "show tells the ledger, what was measured, and that they agree" {
  berth run -m 4G -- vram_user --bytes 1GiB --hold 60s >held 2>&1 3>&- &
  eventually grep -q holding held
  eventually is vram_drift_bytes 0
  [[ $(part vram_ledger_bytes) == "$(part vram_used_bytes)" ]]
  (($(part vram_ledger_bytes) >= gib))
  run berth show 1
  contains " charged, no drift"
}

@test "memory that escapes the guard is found, shown, and used all the same" {
  # One of its processes is not guarded; the other asks for more while that is there.
  berth run -m 8G -- bash -c '
    BERTH_DISABLE=1 vram_user --bytes 3GiB --hold 60s >escaped &
    until [[ -e go ]]; do sleep 0.05; done
    vram_user --bytes 8GiB --step 256MiB >within 2>&1
    echo $? >within_code' 3>&- &
  eventually grep -q holding escaped
  drifted() { [[ $(part vram_drift_bytes) != None ]]; }
  eventually drifted
  run berth show 1
  contains "0 B charged, drift +3."
  counted() { (($(od -An -t u8 -j 96 -N 8 "$(find "$world" -name limit)") > 3 * gib)); }
  eventually counted
  touch go
  eventually test -s within_code
  [[ $(<within_code) == 1 ]]
  local reached=$(sed -n 's/.*beyond \([0-9]*\) MiB.*/\1/p' within)
  ((reached <= 5 * 1024 && reached >= 4 * 1024))
}

@test "what peaked between two looks is known, and kept when the lease has ended" {
  run --separate-stderr berth run -m 8G -- vram_user --bytes 7400MiB
  [[ $stderr == *"lease 1 peaked at 7.5 GiB of 8.0 GiB" ]]
  berth wait 1
  (($(part vram_peak_bytes) >= 7400 << 20))
  berth daemon stop
  run berth show 1
  contains "peak 7."
}

@test "a run that used little says what would have done" {
  run --separate-stderr berth run -m 8G -- vram_user --bytes 1GiB
  [[ $stderr == *"lease 1 peaked at 1."*" GiB of 8.0 GiB: -m "*"M would be enough" ]]
}

@test "a run that was refused says so, and show counts it" {
  run --separate-stderr berth run -m 2G -- vram_user --bytes 4GiB
  status_is 1
  printf '%s\n' "$stderr"
  [[ $stderr == *"lease 1 was refused 4.0 GiB after "*", with "*" of 2.0 GiB in use: -m 4"*"M would have allowed it" ]]
  eventually is refused_allocations 1
}

@test "the past, the log and whoever listens hear of a refusal while its program runs" {
  berth status >status
  curl -sN --unix-socket "$(berth daemon status --json | jq -r .socket)" http://localhost/v1/events >news 3>&- &
  listens() { [[ $(berth daemon status --json | command jq .counts.event_streams) == 1 ]]; }
  eventually listens
  berth run -q -m 2G -n train -- sh -c 'vram_user --bytes 4GiB; sleep 1000' 3>&- &
  refused() { [[ $(berth history --events --json | jq '[.items[] | select(.verb == "refuse")] | length') == 1 ]]; }
  eventually refused
  state_is train held
  berth history --events --json | jq -e '.items[] | select(.verb == "refuse") | .lease == 1 and .by == null and
    (.reason | test("^4.0 GiB, with .* of 2.0 GiB in use: -m 4[0-9]*M would have allowed it$"))'
  berth daemon logs 2>&1 | grep -q "refuse lease 1 ($(id -un)/train): 4.0 GiB, with "
  grep -A 3 '^event: audit' news | sed -n 's/^data: //p' | jq -e '.verb == "refuse" and .lease == 1 and .name == "train"'
  # Another daemon finds it in the journal, and the same figures in the ledger of the lease.
  kill -KILL "$(berth daemon status --json | jq .pid)"
  measured() { [[ $(berth show train --json | jq '.devices[0].refused_allocations') == 1 ]]; }
  eventually measured
  refused
}

@test "what no budget could allow is not proposed, and the one that is proposed is enough" {
  run --separate-stderr berth run -m 2G -- vram_user --bytes 20GiB
  printf '%s\n' "$stderr"
  [[ $stderr == *"lease 1 was refused 20.0 GiB after "*" in use: more than this GPU can grant (15.5 GiB)" ]]
  run --separate-stderr berth run -m 2G -- vram_user --bytes 15700MiB
  [[ $stderr == *"lease 2 was refused "*" in use: together more than this GPU can grant (15.5 GiB)" ]]
  run --separate-stderr berth run -m 2G -- vram_user --bytes 15400MiB
  printf '%s\n' "$stderr"
  [[ $stderr == *": -m 15872M would have allowed it" ]]
  berth run -q -m 15872M -- vram_user --bytes 15400MiB
}

@test "a program that never touches the GPU says nothing of a peak" {
  run --separate-stderr berth run -m 8G -- true
  [[ $stderr != *peak* ]]
}

@test "fit --like answers from earlier runs" {
  run --separate-stderr berth fit --like -- vram_user --bytes 1GiB
  status_is 0
  [[ ${lines[0]} == "It is not known what it needs"* && ${lines[1]} == "It fits now on GPU 0."* ]]
  berth run -q -m 4G -- vram_user --bytes 1GiB
  eventually state_is 1 ended
  run --separate-stderr berth fit --like -- vram_user --bytes 1GiB
  [[ ${lines[0]} == "By its last runs it needs 1.4 GiB." ]]
  run berth fit --like
  status_is 64
  run berth fit -- vram_user --bytes 1GiB
  status_is 64
  contains "berth fit --like -- vram_user --bytes 1GiB"
  run berth fit 8G --like -- vram_user
  status_is 64
}

@test "run without -m asks for what the command used before, where the configuration says so" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  echo 'policy.default_vram = "learned"' >"$XDG_CONFIG_HOME/berth/config.toml"
  run --separate-stderr berth run -- vram_user --bytes 1GiB
  [[ $stderr == *"no -m: asking for what earlier runs"*"and nobody else"* ]]
  eventually state_is 1 ended
  run --separate-stderr berth run -- vram_user --bytes 1GiB
  [[ $stderr == *", 1.4 GiB, lease 2"* ]]
  run berth show 2
  contains "asked "
  contains "1.4 GiB on any GPU, by what it used before"
  contains "GPU 0 "
  # It survives a restart of the daemon.
  berth daemon stop
  run --separate-stderr berth run -- vram_user --bytes 1GiB
  [[ $stderr == *", 1.4 GiB, lease 3"* ]]
}

@test "-m auto asks for that, whatever the configuration says; members of a set learn from each other" {
  run --separate-stderr berth run -m auto -- vram_user --bytes 1GiB
  [[ $stderr == *"-m auto: asking for what earlier runs"*"and nobody else"* ]]
  eventually state_is 1 ended
  run --separate-stderr berth run -m auto -- vram_user --bytes 1GiB
  [[ $stderr == *", 1.4 GiB, lease 2"* ]]
  berth submit -q -m auto --grid n=1,2 -- bash -c 'exec vram_user --bytes 2GiB # {n}' >id
  berth wait "$(<id)"
  run berth show "$(<id).2"
  contains "2.4 GiB on any GPU, by what it used before"
  run berth run -m auto -x -- true
  status_is 64
  contains "-m auto is for a share of a GPU beside others"
  run berth reserve 1m -m auto
  status_is 64
  contains "a reservation has no command"
}
