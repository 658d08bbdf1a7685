#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# First attempts of people, and the sentence that puts them right.
load lib

# says STATUS TEXT WORD...: berth WORD... ends so, and says this.
says() {
  local wanted=$1 text=$2
  shift 2
  run berth "$@"
  status_is "$wanted"
  contains "$text"
}

@test "a size needs a unit" {
  says 64 "a size needs a unit; did you mean 8G?" run -m 8 -- true
  says 64 "did you mean 8192M?" run -m 8192 -- true
  says 64 "did you mean 8G?" fit 8
  says 64 "did you mean 8G?" reserve 1h -m 8
  says 64 "did you mean 8G?" wait --fit 8
  says 64 "did you mean 8G?" resize 1 -m 8
  [[ ! -e $BERTH_RUNTIME_DIR/sim ]] # Nobody was asked.
}

@test "a budget that no context fits into is refused with the least that makes sense" {
  least="is below what a CUDA context alone takes here before the first allocation, about 512 MiB: \
ask for at least 512M"
  says 64 "8 B $least" run -m 8B -- true
  says 64 "500 MiB $least" run -m 500M -- true
  says 64 "500 MiB $least" fit 500M
  says 64 "500 MiB $least" reserve 1h -m 500M
  run berth run -q -m 512M -- true
  status_is 0
  berth reserve 1h -m 2G
  says 64 "500 MiB $least" resize @last -m 500M
  [[ $(curl -sS --unix-socket "$(berth daemon status --json | jq -r .socket)" \
    http://localhost/v1/devices | jq '.items[0].vram_context_bytes') == $((512 << 20)) ]]
}

@test "why alone tells of each request of one's own that waits" {
  run berth why
  status_is 0
  contains "No request of yours waits."
  berth run -q -m 12G -n holder -- sleep 60 3>&- &
  eventually state_is 1 held
  berth run -q -m 8G -n first -- true 3>&- &
  eventually state_is 2 waiting
  berth run -q -m 9G -n second -- true 3>&- &
  eventually state_is 3 waiting
  run berth why
  status_is 0
  contains "/first"
  contains "/second"
}

@test "a duration after --wait is not run" {
  says 64 "--wait=10m" run -m 1G --wait 10m -- true
  says 64 "--wait=10m" run -m 1G -W 10m true
}

@test "the card's size names what is kept of it, and what would do" {
  says 64 "16.0 GiB fits on no GPU here: the largest budget that can be granted is 15.5 GiB, because \
512 MiB of it are kept in reserve: -m 15.5G, or -x for the whole GPU" run -m 16G -- true
  run berth run -q -m 15.5G -- true
  status_is 0
  says 64 "it asks for 2 GPUs, and this machine has 1" run -x -g 2 -- true
}

@test "words of other programs" {
  says 64 'did you mean --vram?' run --memory 8G -- true
  says 64 'did you mean --vram?' run --mem=8G -- true
  while read -r word ours; do
    says 64 "did you mean \"$ours\"?" "$word"
    berth help "${ours%% *}" >/dev/null
  done <<'WORDS'
kill cancel
rm cancel
stop cancel
list ps
ls ps
htop top
log logs
follow logs -f
tail logs -f
sub submit
sbatch submit
squeue queue
scancel cancel
delete cancel
end cancel
add submit
WORDS
}

@test "a verb without its action lists them" {
  says 64 "missing ACTION: show, check, default, schema" config
  says 64 "missing ACTION: start" daemon
  says 64 "missing ACTION: list" alert
}

@test "one form of output at a time" {
  says 64 "one form of output at a time" ps --json --csv
  says 64 "one form of output at a time" ps -q --json
  run berth ps --json -o json
  status_is 0
}

@test "-q prints ids, or is refused where there are none" {
  for verb in "config show" "fit 1G" doctor; do
    # shellcheck disable=SC2086
    says 64 "-q prints ids" $verb -q
  done
}

@test "a quoted command, and an empty name" {
  run -127 berth run -m 1G -- "vram_user --bytes 1GiB"
  contains "leave out the quotes"
  says 64 "the name is empty" run -m 1G -n "" -- true
  says 64 "the name is empty" run -m 1G -n "  " -- true
  run berth run -q -m 1G -n "my job" -- true
  status_is 0
}

@test "a world that there cannot be starts no daemon" {
  for wrong in banana 2x16 0x16GiB "1x16GiB,"; do
    BERTH_SIM=$wrong run berth status
    status_is 78
    contains "write for example 2x16GiB"
    [[ $output != *modprobe* ]]
  done
  [[ -z $(find "$world/run" -name '*.sock') ]]
}

@test "options of later versions are neither in help nor completed" {
  for option in --peak --on-pressure --cap-hint --container; do
    [[ $(berth run --help) != *$option* ]]
    [[ $(berth completion words -- run "$option") == "" ]]
  done
}

@test "a name that two live leases have is no name to cancel by" {
  berth run -q -m 1G -n dup -- sleep 60 3>&- &
  berth run -q -m 1G -n dup -- sleep 60 3>&- &
  eventually two
  for verb in cancel pause show "resize -m 2G"; do
    # shellcheck disable=SC2086
    says 64 "'dup' names several leases: 1, 2; say which number" $verb dup
  done
  berth cancel 2
  berth cancel dup # The other is not.
  eventually state_is 1 ended
}
two() { (($(berth ps -q 2>/dev/null | wc -l) == 2)); }

@test "-g 1 is said to be a number of GPUs, on a terminal, to whom got another" {
  export BERTH_SIM=2x16GiB
  hint="-g 1 is how many GPUs; GPU 1 itself is -g 1,"
  run script -qec "berth run -m 1G -g 1 -- true" /dev/null
  contains "$hint"
  run script -qec "berth run -m 1G -g 1, -- true" /dev/null
  [[ $output != *"is how many"* ]]
  run berth run -m 1G -g 1 -- true
  [[ $output != *"is how many"* ]]
  for verb in "fit 1G" "reserve 1m -m 1G"; do
    run script -qec "berth $verb -g 1" /dev/null
    contains "$hint"
    run script -qec "berth $verb -g 1," /dev/null
    [[ $output != *"is how many"* ]]
  done
}

@test "that the GPU is simulated is said once" {
  for _ in 1 2; do berth run -q -m 1G -- sleep 60 3>&- & done
  eventually two
  run berth cancel 1 2
  [[ $(grep -c "the GPU is simulated" <<<"$output") == 1 ]]
}

@test "COLUMNS is the width where there is no terminal" {
  berth run -q -m 1G -- sh -c 'sleep 60' "$(printf 'x%.0s' {1..200})" 3>&- &
  eventually state_is 1 held
  COLUMNS=70 run --separate-stderr berth ps
  for line in "${lines[@]}"; do ((${#line} <= 70)); done
  run --separate-stderr berth ps
  [[ $output == *xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx* ]]
}

@test "in 80 columns the line of who waits keeps who holds and what is free" {
  berth run -q -m 10G -n a-rather-long-name --eta 10m -- sleep 60 3>&- &
  eventually state_is 1 held
  cat >"$world/wait" <<'EXPECT'
set timeout 10
set stty_init "columns 80"
spawn berth run -m 8G --wait=5s -- true
expect "GPU 0: 5.5 GiB of 8.0 GiB free; root/a-rather-long-name holds 10.0 GiB"
EXPECT
  sed -i "s|root/|$(id -un)/|" "$world/wait"
  run expect "$world/wait"
  contains "GPU 0: 5.5 GiB of 8.0 GiB free; $(id -un)/a-rather-long-name holds 10.0 GiB"
}

@test "in 80 columns who waits for a whole GPU sees who is on it" {
  berth run -q -m 10G -n a-rather-long-name --eta 10m -- sleep 60 3>&- &
  eventually state_is 1 held
  cat >"$world/wait" <<'EXPECT'
set timeout 10
set stty_init "columns 80"
spawn berth run --wait=5s -- true
expect "~10 min"
EXPECT
  run expect "$world/wait"
  contains "berth: GPU 0 has other leases; $(id -un)/a-rather-long-name holds 10.0 GiB, ~10 min"
}

@test "with two GPUs the holder that is named is on the GPU that is named" {
  export BERTH_SIM=2x16GiB BERTH_SIM_NAME=${world##*.}b
  berth run -q -m 10G -g 0, -n first -- sleep 60 3>&- &
  eventually state_is 1 held
  berth run -q -m 12G -g 1, -n second -- sleep 60 3>&- &
  eventually state_is 2 held
  cat >"$world/wait" <<'EXPECT'
set timeout 10
set stty_init "columns 200"
spawn berth run -m 12G -g 2 --wait=5s -- true
expect "0 of 2 GPUs free; GPU 0 has 5.5 GiB free (USER/first holds 10.0 GiB)"
EXPECT
  sed -i "s|USER|$(id -un)|" "$world/wait"
  run expect "$world/wait"
  contains "GPU 0 has 5.5 GiB free ($(id -un)/first holds 10.0 GiB)"
  run expect <(sed 's/columns 200/columns 80/; s/^expect.*/expect "GPU 0: 5.5"/' "$world/wait")
  contains "GPU 0: 5.5 GiB of 12.0 GiB free; $(id -un)/first holds 10.0 GiB"
}

@test "in 80 and 50 columns reasons stay whole, and long names differ" {
  local start=a-sweep-over-learning-rates-of-the-large-model name columns verb
  for name in alpha beta gamma; do
    berth run -q -m 4G -n "$start-$name" --eta 10m -- sleep 60 3>&- &
  done
  eventually state_is 3 held
  berth run -q -x -n "$start-waits" -- true 3>&- &
  eventually state_is 4 waiting
  for columns in 80 50; do
    for verb in status ps queue; do
      run env COLUMNS="$columns" berth "$verb"
      for line in "${lines[@]}"; do ((${#line} <= columns)); done
      [[ $verb == queue ]] || for name in alpha beta gamma; do [[ $output == *[-…]$name" "* ]]; done
      [[ $verb == ps ]] || [[ $(tr -s ' \n' ' ' <<<"$output") == \
        *" waits for a GPU without other leases; "?" ends in ~10 min "* ]]
    done
  done
}

@test "how a lease ended is not cut in the middle" {
  berth run -q -m 1G -n a-name -- sh -c 'exit 2' || true
  run env COLUMNS=80 script -qec "berth ps -a --color=never" /dev/null
  [[ $output == *"ended: failed with exit status 2"* ]]
}

@test "a form of output that there is not is refused" {
  local verb
  for verb in "config check" "config default" "config schema" "daemon logs" "daemon start"; do
    # shellcheck disable=SC2086 # a verb and its action
    run berth $verb --json
    status_is 64
    contains "${verb#* }"
    contains "--json, --csv and -o are for "
  done
}

@test "without a driver the user hears how to try Berth" {
  ! ldconfig -p | grep -q libnvidia-ml || skip "there is a driver here"
  world_up
  unset BERTH_SIM BERTH_SIM_NAME
  local verb
  for verb in "run -m 1G -- true" status doctor; do
    # shellcheck disable=SC2086 # a verb and its arguments
    run berth $verb
    [[ $(tr -s ' \n' ' ' <<<"$output") == *"no NVIDIA driver"*"BERTH_SIM=1x16GiB"* ]]
  done
}
