# SPDX-License-Identifier: Apache-2.0
# The guard as users meet it: who is held to a budget, who is not, and what they are told.
load lib

@test "a program that asks for more than its budget is refused there" {
  run --separate-stderr berth run -m 8G -- vram_user --bytes 12GiB --step 256MiB
  status_is 1
  contains "allocating 256 MiB beyond 7680 MiB: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"
}

@test "a neighbour never notices" {
  berth run -m 8G -- vram_user --bytes 7GiB --hold 60s --verify >neighbour 2>&1 3>&- &
  eventually grep -q holding neighbour
  run berth run -m 4G -- vram_user --bytes 12GiB --step 256MiB
  status_is 1
  run berth run -m 7G -- vram_user --bytes 6GiB --step 256MiB --verify
  status_is 0
  [[ $(<neighbour) != *rror* ]]
}

@test "--enforce none trusts the program" {
  run berth run -m 8G --enforce none -- vram_user --bytes 12GiB
  status_is 0
  run berth run -m 8G --enforce none -- env
  [[ $output != *LD_PRELOAD* && $output != *BERTH_LEASE_DIR* ]]
}

@test "BERTH_DISABLE=1 removes everything" {
  BERTH_DISABLE=1 run berth run -m 8G -- env
  [[ $output != *LD_PRELOAD* && $output != *BERTH_LEASE* ]]
  run berth run -m 8G -- env BERTH_DISABLE=1 vram_user --bytes 12GiB
  status_is 0
  [[ $output != *berth-guard* ]]
}

@test "what the user preloads stays, and ours comes last, once" {
  libc=$(ldd "$(type -P berth)" | awk '/libm\.so/ { print $3 }')
  LD_PRELOAD=$libc run --separate-stderr berth run -m 2G -- bash -c 'echo $LD_PRELOAD'
  [[ $output == "$libc:"*/libberth-guard.so ]]
  run --separate-stderr berth run -m 2G -- berth run -- berth run -- bash -c 'echo $LD_PRELOAD'
  [[ $output == */libberth-guard.so && $(grep -o libberth-guard <<<"$output" | wc -l) == 1 ]]
}

@test "what the user audits with stays, and ours comes last, once" {
  ! berth_is_sanitized || skip "no audit in a sanitized build"
  run --separate-stderr berth run -m 2G -- bash -c 'echo ${LD_AUDIT-none}'
  [[ $output == none ]]
  echo 'unsigned la_version(unsigned version) { return version; }' >own.c
  gcc -shared -fPIC own.c -o own.so
  LD_AUDIT=$PWD/own.so run --separate-stderr berth run -m 2G --guard-mode audit -- \
    berth run --guard-mode=audit -- bash -c 'echo $LD_AUDIT'
  [[ $output == "$PWD/own.so:"*/libberth-audit.so ]]
  [[ $(grep -o libberth-audit <<<"$output" | wc -l) == 1 ]]
}

@test "a lease inside a lease has a budget of its own" {
  run berth run -m 8G -- berth run --new-lease -m 2G -- vram_user --bytes 3GiB --step 128MiB
  status_is 1
  contains "beyond 1664 MiB: CUDA_ERROR_OUT_OF_MEMORY"
}

@test "a program that never touches CUDA runs as it would without" {
  run --separate-stderr berth run -q -m 1G -- bash -c 'echo one; exit 5'
  status_is 5
  [[ $output == one && -z $stderr ]]
}

@test "the files of a lease go with it" {
  run --separate-stderr berth run -m 1G -- bash -c 'cd "$BERTH_LEASE_DIR" && ls && pwd'
  [[ $output == "limit"$'\n'"use"$'\n'* ]]
  eventually test ! -e "${lines[2]}"
}

@test "without its files a program runs on, and one line says so" {
  run berth run -m 1G -- bash -c 'rm "$BERTH_LEASE_DIR"/use; vram_user --bytes 2GiB; echo $?'
  contains "berth-guard: cannot open "
  contains "/use: no budget holds this program"
  [[ ${lines[-1]} == 0 ]]
  # A daemon that lives sees that it is damaged, and takes the files away.
  run berth run -m 1G -- bash -c '
    kill -KILL "$(berth daemon status --json | jq .pid)"
    head -c 50000 /dev/urandom >"$BERTH_LEASE_DIR/use"
    vram_user --bytes 2GiB
    echo $?'
  contains "is not of this version: no budget holds this program"
  [[ ${lines[-1]} == 0 ]]
}

# count PATTERN FILE NUMBER: so many of its lines match.
count() { [[ $(grep -c -- "$1" "$2") == "$3" ]]; }

@test "the budget holds while the daemon is dead, and when it is back" {
  cat >job <<'END'
touch started
for round in one two; do
  until [[ -e $round ]]; do sleep 0.02; done
  vram_user --bytes 3GiB --step 64MiB
done
END
  berth run -m 2G -- bash job >out 2>&1 3>&- &
  eventually test -e started
  kill -KILL "$(berth daemon status --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' | head -n 1)"
  touch one
  eventually count OUT_OF_MEMORY out 1
  berth ps
  touch two
  eventually count OUT_OF_MEMORY out 2
}

@test "resize holds from the next allocation of a running program on" {
  local build=${build_dir:-$(git -C "$BATS_TEST_DIRNAME" rev-parse --show-toplevel)/build/release}
  mkfifo calls
  berth run -q -m 1G -n job -- "$build/bin/tests/cuda_caller" dlsym <calls >said 2>lines 3>&- &
  exec 9>calls
  printf 'retain 0\nalloc a 1073741824\n' >&9
  eventually count '^' said 2
  berth resize job -m 2G
  echo "alloc a 1073741824" >&9
  eventually count '^' said 3
  berth resize job -m 1G
  echo "alloc b 2097152" >&9
  eventually count '^' said 4
  [[ $(<said) == $'0\n2\n0\n2' ]]
  exec 9>&-
}
