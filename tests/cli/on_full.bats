# SPDX-License-Identifier: Apache-2.0
# --on-full: an allocation that the budget has no room for fails, or waits for room.
load lib
sim=1x16GiB,context=64MiB

caller() {
  echo "${build_dir:-$(git -C "$BATS_TEST_DIRNAME" rev-parse --show-toplevel)/build/release}/bin/tests/cuda_caller"
}
# count FILE NUMBER: it has so many lines.
count() { [[ $(wc -l <"$1") == "$2" ]]; }
says() { grep -q -- "$1" "$2"; }

@test "what it is to be is said in words and durations, and nothing is started for others" {
  for word in "" wat wait= wait=5y wait=-1s fail=1s 30s waiting; do
    run berth run -m 1G "--on-full=$word" -- true
    status_is 64
    contains "--on-full: '"
  done
  for word in wait=0 wait=0s; do
    run berth run -m 1G "--on-full=$word" -- true
    status_is 64
    contains "--on-full: must be greater than 0"
  done
  run berth run -m 1G --on-full
  status_is 64
  [[ ! -e $BERTH_RUNTIME_DIR/sim ]]
}

@test "the command is told how long, and what it starts inherits that" {
  run --separate-stderr berth run -q -m 1G -- sh -c 'echo "${BERTH_ON_FULL-none}"'
  [[ $output == none ]]
  run --separate-stderr berth run -q -m 1G --on-full fail -- sh -c 'echo "${BERTH_ON_FULL-none}"'
  [[ $output == none ]]
  run --separate-stderr berth run -q -m 1G --on-full wait -- sh -c 'echo "$BERTH_ON_FULL"'
  [[ $output == wait=30000ms ]]
  cat >inner <<'END'
berth run -q -- sh -c 'echo "${BERTH_ON_FULL-none}"'
berth run -q --on-full fail -- sh -c 'echo "${BERTH_ON_FULL-none}"'
berth run -q --new-lease -m 1G -- sh -c 'echo "${BERTH_ON_FULL-none}"'
END
  run --separate-stderr berth run -q -m 1G --on-full=wait=1m -- sh inner
  [[ $output == wait=60000ms$'\n'none$'\n'none ]]
}

@test "a lease that is full says so, and goes on when it is resized" {
  mkfifo calls
  berth run -m 1G -n job --on-full wait=10m -- "$(caller)" dlsym <calls >said 2>err 3>&- &
  exec 9>calls
  printf 'retain 0\nalloc a 536870912\nalloc b 268435456\nalloc c 536870912\n' >&9
  eventually count said 3
  is_full() { [[ $(berth ps --fields flags --no-header -o tsv 2>/dev/null) == *full* ]]; }
  patience=30 eventually is_full
  run berth show job
  contains "512 MiB waited for"
  run berth why job
  contains "an allocation waits for 512 MiB, and the budget is full (more: berth resize 1 -m "
  eventually says "in lease 1 an allocation waits for 512 MiB" err
  berth resize job -m 2G
  patience=30 eventually count said 4
  [[ $(<said) == $'0\n0\n0\n0' ]]
  is_not_full() { ! is_full; }
  patience=30 eventually is_not_full
  exec 9>&-
}
