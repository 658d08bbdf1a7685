#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Options of a request, and what follows from them: priority, eta, limit, name, labels,
# session, how memory is asked for.
load lib

# holder SIZE [OPTION...]: a lease named holder, until killed; $holder is its supervisor.
holder() {
  berth run -q -m "$1" -n holder "${@:2}" -- sleep 1000 3>&- &
  holder=$!
  eventually state_is holder held
}
# waiting NAME OPTION...: a request that waits; its command notes that it was started.
waiting() {
  berth run -q -n "$1" "${@:2}" -- sh -c "echo $1 >>order" 3>&- &
  eventually state_is "$1" waiting
}
order_is() { [[ -e order && $(xargs <order) == "$1" ]]; }

@test "priority decides who is next, and who came first among equals" {
  holder 12G
  waiting low -m 12G -p low
  waiting first -m 12G
  waiting second -m 12G -p normal
  waiting high -m 12G -p high
  waiting urgent -m 12G -p urgent
  [[ $(berth queue -o tsv --fields name --no-header 2>/dev/null | xargs) == \
    "urgent high first second low" ]]
  [[ $(of high priority) == high && $(of urgent queue_position) == 1 ]]
  kill "$holder"
  eventually order_is "urgent high first second low"
}

@test "an eta is planned with, and not enforced" {
  holder 12G --eta 20m
  [[ $(of holder eta_ms) == 1200000 && $(of holder expected_end) == 20*Z ]]
  waiting next -m 12G
  run berth why next
  contains "~20 min"
  run --separate-stderr berth run -q -m 1G --eta 1ms -- sh -c 'sleep 0.2; echo ended by itself'
  status_is 0
  [[ $output == "ended by itself" ]]
}

@test "a limit is enforced, counted from the grant, and said in ps" {
  run berth run -q -m 1G -n limited --limit 300ms -- sleep 1000
  status_is 124
  [[ $(of limited result) == limit && $(of limited limit_ms) == 300 ]]
  holder 12G
  # What waits has its limit still before it.
  berth run -q -m 12G -n late --limit 1h -- sh -c 'echo started >late' 3>&- &
  eventually state_is late waiting
  [[ $(of late expected_end) == null ]]
  kill "$holder"
  eventually test -s late
}

@test "a small request with a limit may pass one that waits, where it does not delay it" {
  holder 8G --limit 1h
  waiting large -m 12G
  # Beside the holder and, later, beside the large one.
  run berth run -q -m 2G -- echo passed
  status_is 0
  # Done before the large one could start.
  run berth run -q -m 6G --limit 10m -- echo passed
  status_is 0
  # Neither: it would have to wait, and does not.
  run berth run -q -m 6G --no-wait -- echo passed
  status_is 75
  state_is large waiting
}

@test "names, labels and sessions are told again" {
  export BERTH_SESSION=me/work
  holder 1G -t team=vision -t "ticket=A 12"
  [[ $(of holder session) == me/work ]]
  [[ $(of holder labels.team) == vision && $(of holder labels.ticket) == "A 12" ]]
  run berth run -q -m 1G --session other -n more -- true
  [[ $(of more session) == other ]]
  run berth show holder
  contains "team"
  contains "vision"
}

@test "without -m the policy decides: a whole GPU, a question, or a size" {
  mkdir -p "$world/config/berth"
  file=$world/config/berth/config.toml
  run --separate-stderr berth run -- sh -c 'echo $BERTH_VRAM_BYTES'
  [[ $output == $((15872 << 20)) && $stderr == *'(default_vram = "exclusive")'* ]]
  echo 'policy.default_vram = "ask"' >"$file"
  for words in "run -- true" "reserve 1h"; do
    # shellcheck disable=SC2086
    run berth $words
    status_is 64
    contains "Say -m SIZE (-m 8G), or -x for a whole GPU"
  done
  run --separate-stderr berth run -x -q -- sh -c 'echo $BERTH_VRAM_BYTES'
  [[ $output == $((15872 << 20)) ]]
  echo 'policy.default_vram = "2GiB"' >"$file"
  run --separate-stderr berth run -- sh -c 'echo $BERTH_VRAM_BYTES'
  [[ $output == $((2 << 30)) && $stderr == *'no -m: asking for 2.0 GiB (default_vram = "2G")'* ]]
  run --separate-stderr berth run --share exclusive -q -- sh -c 'echo $BERTH_VRAM_BYTES'
  [[ $output == $((15872 << 20)) ]]
  export BERTH_DEFAULT_VRAM=nonsense
  run berth run -- true
  status_is 78
  contains BERTH_DEFAULT_VRAM
}

@test "a whole GPU is granted beside nobody, and nobody beside it" {
  holder 1G
  waiting whole -x
  run berth run -q -m 1G --no-wait -- true
  status_is 75 # It would pass the one that waits for the GPU to be empty.
  kill "$holder"
  eventually order_is whole
}

@test "what follows the command is the command's, whatever it looks like" {
  run --separate-stderr berth run -q -m 1G -- printf '%s|' --help -m 8G --yield -- -
  [[ $output == "--help|-m|8G|--yield|--|-|" ]]
  run --separate-stderr berth run -q -m 1G printf '%s|' --help -m 8G
  [[ $output == "--help|-m|8G|" ]]
  # An optional value takes an equals sign only, so that it swallows no command.
  run --separate-stderr berth run -q -m 1G --wait -- echo waited
  [[ $output == waited ]]
  run --separate-stderr berth run -q -m 1G -W echo waited
  [[ $output == waited ]]
  run --separate-stderr berth run -q -m 1G --wait=5m echo waited
  [[ $output == waited ]]
  for words in "run -m 1G" "run -m 1G --"; do
    # shellcheck disable=SC2086
    run berth $words
    status_is 64
    contains "missing COMMAND"
  done
}

@test "what is for a later version is said to be, and nothing is started" {
  for option in --container --peak=1G --on-pressure=kill --cap-hint=torch; do
    run berth run -m 1G "$option" -- touch started
    status_is 64
    contains "not in this version"
    contains "${option%%=*}"
  done
  [[ ! -e started && ! -e $BERTH_RUNTIME_DIR/sim ]]
}
