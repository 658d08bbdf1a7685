#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Processes that outlive the command of a lease.
load lib

# The command ends with 5 once its child has memory of the GPU.
leaving_behind() {
  berth run "$@" -- bash -c '
    vram_user --bytes 1GiB --hold 1000s >allocated 2>&1 3>&- &
    for ((i = 0; i < 500; ++i)); do
      (($(berth show --json $BERTH_LEASE | jq ".vram_used_bytes // 0") > 0)) && exit 5
      sleep 0.02
    done'
}

@test "a process that still uses the GPU keeps the lease, and run returns at once" {
  run leaving_behind -m 2G
  status_is 5
  contains "1 process of lease 1 still uses GPU 0; it stays held until it ends (berth release --kill 1)"
  state_is 1 held
  berth release --kill 1
  eventually state_is 1 ended
  [[ $(berth show --json 1 | jq .exit_code) == 5 ]]
}

@test "with --leftovers=kill they are ended" {
  run leaving_behind -m 2G --leftovers kill
  status_is 5
  eventually state_is 1 ended
}

@test "with --leftovers=release the lease ends, and what they use stays charged until it is freed" {
  run leaving_behind -m 2G --leftovers release
  status_is 5
  state_is 1 releasing
  [[ $(berth status --json | jq '.devices[0].vram_grantable_bytes') -lt $((15 << 30)) ]]
  kill $(world_vram_users)
  eventually state_is 1 ended
}
world_vram_users() {
  for pid in $(world_processes); do
    [[ $(<"/proc/$pid/comm") == vram_user ]] && echo "$pid"
  done
}

@test "a process that never used the GPU keeps nothing" {
  run berth run -m 2G -- sh -c 'sleep 1000 3>&- >&- 2>&- & exit 5'
  status_is 5
  [[ $output != *"still use"* ]]
  eventually state_is 1 ended
}

@test "what double-forks stays known" {
  cat >forker <<'SH'
(setsid vram_user --bytes 1GiB --hold 1000s >allocated 2>&1 3>&- &)
for ((i = 0; i < 500; ++i)); do
  (($(berth show --json $BERTH_LEASE | jq ".vram_used_bytes // 0") > 0)) && exit 0
  sleep 0.02
done
exit 1
SH
  run berth run -m 2G -- bash forker
  status_is 0
  contains "1 process of lease 1 still uses GPU 0"
}

@test "kill -9 of run leaves command and lease as they are" {
  berth run -q -m 2G --limit 5s -- sh -c 'echo $$ >pid; exec sleep 1000' 3>&- &
  runner=$!
  eventually test -s pid
  kill -9 "$runner"
  wait "$runner" || true
  state_is 1 held
  kill -0 "$(<pid)"
  eventually state_is 1 ended # By its limit: the daemon takes that over.
  ! readlink "/proc/$(<pid)/exe"
}
