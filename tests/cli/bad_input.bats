#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Nonsense on a command line: each is refused at once with 64, by its name, and asks the
# daemon for nothing.
load lib

# is_wrong OPTION VALUE: the sentence names both, but for a nothing.
is_wrong() {
  case $2 in
    0*[1-9]* | [!0]* | "") contains "$1: '$2' is" ;;
    *) contains "$1: must be greater than 0" ;;
  esac
}

@test "sizes: none, negative, too large, of no unit" {
  for size in "" 0 0G -1 -8G 1.5X 8Q G 1e9 0x10 nan inf " 8G" 8G8G 1..5G 5EiB 99999999999999999999 \
    18446744073709551616; do
    for verb in "run" "reserve 1h" "resize 1"; do
      # shellcheck disable=SC2086
      run berth $verb "--vram=$size" -- true
      status_is 64
      is_wrong --vram "$size"
    done
  done
  [[ ! -e $BERTH_RUNTIME_DIR/sim ]] # No daemon was started for it.
}

@test "sizes as people write them" {
  while read -r size bytes; do
    run berth run -q -m "$size" -- sh -c 'echo $BERTH_VRAM_BYTES'
    [[ $output == "$bytes" ]] || { echo "$size: $output"; return 1; }
  done <<'ROWS'
1G 1073741824
1GiB 1073741824
1gib 1073741824
1GB 1000000000
1024M 1073741824
1.5G 1610612736
1073741824B 1073741824
ROWS
  run berth run -q -m "1.5 GiB" -- sh -c 'echo $BERTH_VRAM_BYTES'
  [[ $output == 1610612736 ]]
}

@test "durations: none, negative, too long, of no unit" {
  for time in 0 0s 0.1ms -1 -5s 5y s 1e3 5m5 "" 101y 36501d 99999999999999999999; do
    for option in --eta --limit; do
      run berth run -m 1G "$option=$time" -- true
      status_is 64
      is_wrong "$option" "$time"
    done
  done
  for time in -1 -5s 5y s "5 parsecs" 36501d; do
    run berth run -m 1G "--wait=$time" -- true
    status_is 64
    contains "--wait: '$time' is"
    run berth wait 1 "--timeout=$time"
    status_is 64
    contains "--timeout: '$time' is"
  done
  [[ ! -e $BERTH_RUNTIME_DIR/sim ]]
}

@test "a wait of nothing is no wait, and durations have units or are seconds" {
  berth run -q -m 15G -n holder -- sleep 1000 3>&- &
  eventually state_is holder held
  run berth run -m 1G --wait=0 -- true
  status_is 75
  for time in 90 90s 1m30s 0.025h "1m 30s"; do
    run berth run --dry-run -m 512M --eta "$time" -- true
    status_is 0
  done
}

@test "words that are none of those there are, with the nearest" {
  for options in "-p urgnt|did you mean \"urgent\"?" "--leftovers kil|did you mean \"kill\"?" \
    "--share exclusiv|did you mean \"exclusive\"?" "--nmae x|did you mean --name?" \
    "-k|unknown option -k"; do
    # shellcheck disable=SC2086
    run berth run -m 1G ${options%%|*} -- true
    status_is 64
    contains "${options#*|}"
  done
  [[ ! -e $BERTH_RUNTIME_DIR/sim ]]
}

@test "a value that is missing, one too many, and words where none belong" {
  for words in "run -m" "run -m 1G -n" "ps --fields" "resize 1 -m" "reserve 1h 2h -m 1G" \
    "renew 1" "fit 1G 2G" "status now" "queue 1" "version 1" "daemon start now" "show" \
    "release" "cancel" "completion" "ps --json=yes" "run --exclusive=1 -- true"; do
    # shellcheck disable=SC2086
    run berth $words
    status_is 64
  done
  [[ ! -e $BERTH_RUNTIME_DIR/sim ]]
}

@test "names and labels that cannot be" {
  for name in 7up @mine l_x "$(printf 'x%.0s' {1..65})" $'bell\a'; do
    run berth run -m 1G -n "$name" -- true
    status_is 64
  done
  for label in none =value "$(printf 'k%.0s' {1..65})=v" "k=$(printf 'v%.0s' {1..65})"; do
    run berth run -m 1G -t "$label" -- true
    status_is 64
  done
  many=()
  for i in {1..17}; do many+=(-t "k$i=v"); done
  run berth run -m 1G "${many[@]}" -- true
  status_is 64
  contains "at most 16 labels"
}

@test "more devices than a lease can have, and devices twice" {
  for devices in 0 17 99999999999 -1 0,0 ,, "0,x" GPU-; do
    run berth run -m 1G -g "$devices" -- true
    [[ $status == 64 || ($status == 69 && $output == *"there is no GPU"*) ]] || {
      echo "$devices: $status $output"
      return 1
    }
  done
}

@test "a request larger than any device is refused at once, with the largest that fits" {
  berth run -q -m 15G -n holder -- sleep 1000 3>&- &
  eventually state_is holder held
  # What is held does not matter: it fits on no GPU that stands empty either.
  for words in "run -m 15873M -- true" "reserve 1h -m 15873M" "fit 15873M" "wait --fit 15873M"; do
    # shellcheck disable=SC2086
    run berth $words
    status_is 64
    contains "the largest budget that can be granted is 15.5 GiB"
  done
  run berth resize holder -m 15873M
  status_is 64
  contains "15.5 GiB"
  berth cancel holder
  run berth run -q -m 15872M -- true
  status_is 0
}

@test "ranges and groups that are none" {
  berth daemon start
  for word in 5..2 1.. ..3 1..x 0..99999999999999999999 @ @lsat 99999999999999999999 ""; do
    run berth show "$word"
    [[ $status == 64 || $status == 66 ]] || { echo "'$word': $status $output"; return 1; }
  done
}
