# SPDX-License-Identifier: Apache-2.0
# Processes of one lease in namespaces of their own, where pids and start times mean something else:
# each counts as long as it lives, and no longer.
load lib

# needs OPTION...: as a sandbox that needs no rights makes them.
needs() {
  unshare --user --map-root-user "$@" -- true 2>/dev/null || skip "unshare $* is not allowed here"
}

# A job: `hold` keeps 1280 MiB and a context of 300, `ask` asks for 512 MiB.
setup() {
  world_up
  cat >hold <<'END'
#!/bin/bash
exec vram_user --bytes 1280MiB --hold 60s >"$1" 2>&1
END
  cat >ask <<'END'
#!/bin/bash
vram_user --bytes 512MiB --step 64MiB 2>&1
END
  cat >beside <<'END'
#!/bin/bash
"$@" ./hold held &
for _ in {1..500}; do
  ! grep -sq holding held || break
  sleep 0.02
done
./ask
./ask
kill -KILL -- "$!"
END
  chmod +x hold ask beside
}

# The two that ask for more are refused both times.
refused_twice() {
  [[ $(grep -c CUDA_ERROR_OUT_OF_MEMORY <<<"$output") == 2 ]] || {
    echo "found: $output" >&2
    return 1
  }
}

@test "a PID namespace without a /proc of its own: nobody is taken for dead" {
  needs --pid --fork
  run berth run -m 2G -- unshare --user --map-root-user --pid --fork --kill-child ./beside
  refused_twice
}

@test "a PID namespace with a /proc of its own: what lives in it counts" {
  needs --pid --fork --mount-proc
  run berth run -m 2G -- ./beside \
    unshare --user --map-root-user --pid --fork --mount-proc --kill-child --
  refused_twice
}

@test "a time namespace: nobody is taken for dead by a start time" {
  needs -T --boottime 100000
  run berth run -m 2G -- ./beside unshare --user --map-root-user -T --boottime 100000 --
  refused_twice
}

@test "what a container had is there for the next one, however it ended" {
  needs --pid --fork --mount-proc
  cat >job <<'END'
contain=(unshare --user --map-root-user --pid --fork --mount-proc --kill-child --)
"${contain[@]}" vram_user --bytes 1600MiB
"${contain[@]}" flock --no-fork ended ./hold held &
for _ in {1..500}; do
  ! grep -sq holding held || break
  sleep 0.02
done
kill -KILL $!
flock ended true  # What was in the container ends after the container.
"${contain[@]}" vram_user --bytes 1600MiB
vram_user --bytes 1600MiB
END
  run berth run -q -m 2G -- bash job
  status_is 0
  [[ $(grep -c freed <<<"$output") == 3 && $output != *OUT_OF_MEMORY* ]] || {
    echo "found: $output" >&2
    return 1
  }
}

# charged LEASE: what its programs have charged, by their own account.
charged() { of "$1" 'devices[0].vram_ledger_bytes'; }
has_charged() { [[ $(charged "$1") == "$2" ]] || { charged "$1" >&2; false; }; }

@test "the daemon counts a container's processes as long as they live" {
  needs --pid --fork --mount-proc
  berth run -q -n job -m 2G -- bash -c '
    unshare --user --map-root-user --pid --fork --mount-proc --kill-child ./hold held
    sleep 60' 3>&- &
  eventually has_charged job $((1580 << 20))
  local pid
  for pid in $(world_processes); do
    [[ $(<"/proc/$pid/comm") != vram_user ]] || kill -KILL "$pid"
  done
  eventually has_charged job 0
}
