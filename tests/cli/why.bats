# SPDX-License-Identifier: Apache-2.0
# Proposals of `berth why` help: the very command line that it prints is given, and the request
# starts. A lease that does not run is told who stopped it, for whom and until when.
load lib

# hold NAME OPTIONS...: a lease of 10 GiB that uses 4 of them.
hold() {
  local name=$1
  shift
  berth run -n "$name" -m 10G "$@" -- vram_user --bytes 4GiB --hold 600s >"$name" 2>"$name.said" 3>&- &
  eventually grep -q holding "$name"
}
# waiter: a request of 8 GiB behind it.
waiter() {
  berth run -n waiter -m 8G -- sleep 600 >waiter 2>waiter.said 3>&- &
  eventually state_is waiter waiting
}
# printed WORDS COMMAND...: what stands in brackets in the answer of the command and begins so.
printed() {
  local words=$1
  shift
  { "$@" || true; } 2>&1 | tr '\n' ' ' | grep -oE -- "\($words [^)]*\)" | tr -d '()'
}
# proposed VERB: the command line with that verb, as `why` prints it.
proposed() { printed "berth $1" berth why waiter; }
measured() { (($(berth show "$1" --json | jq '.devices[0].vram_used_bytes // 0') >= 4 << 30)); }

# starts_by VERB: that command line, word by word.
starts_by() {
  state_is holder releasing || eventually measured holder
  local line
  line=$(proposed "$1")
  [[ $line == "berth $1 "* ]]
  $line
  patience=20 eventually state_is waiter held
}

why_says() { [[ $(berth why waiter) == *"$1"* ]]; }

@test "the pause that is proposed lets it start" {
  hold holder
  waiter
  starts_by pause
  state_is holder suspended
}

@test "the resize that is proposed lets it start" {
  hold holder
  waiter
  starts_by resize
  state_is holder held
}

@test "the cancel that is proposed lets it start, and a command is never to lose its lease" {
  hold holder
  waiter
  [[ -z $(proposed release) ]]
  starts_by cancel
}

@test "the requeue that is proposed lets it start" {
  hold holder --requeue
  waiter
  starts_by requeue
  eventually state_is holder waiting
}

@test "the release of a reservation that is proposed lets it start" {
  berth reserve 10m -m 10G -n kept
  waiter
  local line
  line=$(proposed release)
  [[ $line == "berth release 1" ]]
  $line
  eventually state_is waiter held
}

@test "programs of a lease that was detached are named, and the proposed line frees what they use" {
  berth run -n holder -m 15G -- vram_user --bytes 12GiB --hold 600s >holder 2>holder.said 3>&- &
  eventually grep -q holding holder
  eventually measured holder
  waiter
  berth release --detach 1
  # Until the driver was asked once more it counts as all that it had.
  eventually why_says "Not now: programs of 1 (root/holder), which has ended, still use 12."
  run berth why waiter
  contains "First chance: no end known. Ahead of it: nobody."
  contains "the programs of 1 (root/holder) end (berth release --kill 1)."
  run berth status
  contains "waits for memory that programs of 1 still use; no end known"
  run berth fit 8G
  contains "First chance: no end known: "
  contains "programs of 1 (root/holder), which has ended, still use 12."
  berth why waiter --json | jq -e '.reason == "outlived" and .expected_start == null and
    .holders[0].has_ended and .holders[0].expected_end == null'
  starts_by release
}

@test "a lease that is paused says by whom, and its terminal offers what works" {
  hold holder
  berth pause holder --reason lunch
  run berth why holder
  contains "1 root/holder is paused by you since"
  contains ": lunch; it goes on with berth resume 1."
  run berth show holder
  contains "  is paused by you since"
  contains ": lunch; it goes on with berth resume 1"
  fails grep -qE "^ *paused " <<<"$output"
  berth why holder --json | jq -e '.reason == "paused" and .halted.reason == "paused"'
  eventually grep -q "is paused by you: lunch; its GPU memory is in host memory (berth resume 1)" holder.said
}

@test "a lease that made room says for whom and until when" {
  hold holder --yield
  eventually measured holder
  berth run -n deadline -p urgent -m 10G -- sleep 600 >deadline 2>&1 3>&- &
  eventually state_is deadline held
  run berth why holder
  contains "1 root/holder is suspended for lease 2 (root/deadline, priority urgent) since"
  contains "; it comes back when 2 ends."
  run berth show holder
  contains "  is suspended for lease 2 (root/deadline, priority urgent) since"
  contains "; it comes back when 2 ends"
  berth why holder --json | jq -e '.reason == "yields" and .halted.for.id == 2'
  eventually grep -q "is suspended for lease 2 (root/deadline, priority urgent)" holder.said
  fails grep -q "berth resume" holder.said
  berth cancel deadline
  eventually state_is holder held
}

@test "a limit that was lowered is named, and no start is promised" {
  hold holder
  waiter
  mkdir -p "$world/config/berth"
  printf '[users.%s]\nvram = "4G"\n' "$(id -un)" >"$world/config/berth/config.toml"
  berth daemon reload
  run berth why waiter
  contains "it asks for 8.0 GiB, and its user may have 4.0 GiB by now (vram in [users])"
  [[ $output != *"First chance"* ]]
  run berth queue
  contains "asks for more than its limit by now"
  berth why waiter --json | jq -e '.reason == "above_limit" and .limit.kind == "vram" and
    .limit.vram_allowed_bytes == 4294967296 and .expected_start == null'
}

@test "a request for more GPUs than there are is told how many there are" {
  run berth run -m 1G -g 2 -- true
  contains "it asks for 2 GPUs, and this machine has 1"
}

# asks_again OPTIONS: the waiter goes, and comes again with the options that were proposed for it.
asks_again() {
  berth cancel waiter
  # shellcheck disable=SC2086
  berth run -n again $1 -- sleep 600 >again 2>again.said 3>&- &
  patience=20 eventually state_is again held
}

@test "the smaller size that is proposed is granted" {
  hold holder
  waiter
  local words
  words=$(printed -m berth why waiter)
  [[ $words == "-m "* ]]
  asks_again "$words"
  state_is holder held
}

@test "with the GPU that is proposed it starts" {
  BERTH_SIM=2x16GiB hold holder -g 0,
  berth run -n waiter -m 8G -g 0, -- sleep 600 >waiter 2>waiter.said 3>&- &
  eventually state_is waiter waiting
  local words
  words=$(printed -g berth why waiter)
  [[ $words == "-g any" ]]
  asks_again "-m 8G $words"
  state_is holder held
}

@test "the cancel of two leases that is proposed lets it start" {
  pair
  berth run -n waiter -m 12G -- sleep 600 >waiter 2>waiter.said 3>&- &
  eventually state_is waiter waiting
  local line
  line=$(proposed cancel)
  [[ $line =~ ^berth\ cancel\ [12]\ [12]$ ]]
  $line
  eventually state_is waiter held
}
# pair: two leases, neither of which makes enough room by itself.
pair() {
  for name in one two; do
    berth run -n "$name" -m 7G -- vram_user --bytes 4GiB --hold 600s >"$name" 2>&1 3>&- &
    eventually grep -q holding "$name"
    eventually measured "$name"
  done
}

# fits_by VERB SIZE: what `fit` prints is done, and so much fits then.
fits_by() {
  local line
  run berth fit "$2"
  status_is 75
  line=$(printed "berth $1" berth fit "$2")
  [[ $line == "berth $1 "* ]]
  $line
  patience=20 eventually berth fit "$2"
}

@test "the pause, resize and cancel that fit proposes make it fit" {
  hold holder
  eventually measured holder
  fits_by resize 8G
  fits_by pause 12G
  berth resume holder
  fits_by cancel 14G
}

@test "the two leases that fit proposes make it fit" {
  pair
  fits_by cancel 12G
}

@test "the size that fit proposes fits" {
  hold holder
  local words
  words=$(printed -m berth fit 8G)
  [[ $words == "-m "* ]]
  # shellcheck disable=SC2086
  berth fit $words
}
