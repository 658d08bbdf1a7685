#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# berth run inside a lease.
load lib

@test "a run inside a lease joins it" {
  run berth run -m 4G -- berth run -- sh -c 'echo "in $BERTH_LEASE with $BERTH_VRAM_BYTES"'
  status_is 0
  contains "berth: joining lease 1 (4.0 GiB on GPU 0)"
  contains "in 1 with 4294967296"
  [[ $(berth ps -a --json | jq '.items | length') == 1 ]]
}

@test "as much as the lease has is fine, more is 77 with the cure" {
  berth run -q -m 4G -- berth run -q -m 4G -g 1 -- true
  for more in "-m 6G" "-x" "-g 2" "-g 1," "--limit 1h"; do
    run berth run -q -m 4G -- berth run $more -- true
    status_is 77
    contains "you are inside lease"
    contains "--new-lease"
  done
  contains_resize=$(berth run -q -m 4G -- berth run -m 6G -- true 2>&1) || true
  [[ $contains_resize == *"berth resize "*" -m 6G, or --new-lease"* ]]
}

@test "a joined command's code is its own, and the lease goes on" {
  run berth run -q -m 4G -- sh -c 'berth run -q -- sh -c "exit 9"; echo "inner $?"; berth show --json $BERTH_LEASE | jq -r .state'
  [[ $output == $'inner 9\nheld' ]]
}

@test "--new-lease asks for one more" {
  run berth run -q -m 4G -- berth run -q --new-lease -m 6G -- sh -c 'echo "$BERTH_LEASE inside $BERTH_OUTER_LEASES"'
  status_is 0
  [[ $output == "2 inside 1" ]]
}

@test "a new lease that would wait on the one around it is refused at once" {
  run berth run -q -m 10G -- berth run --new-lease -m 10G -- true
  status_is 77
  contains "lease 1"
}

@test "a stale lease in the environment is ignored with one line" {
  berth run -q -m 1G -- sh -c 'echo $BERTH_LEASE_ID' >handle
  export BERTH_LEASE_ID=$(<handle)
  ended() { [[ $(berth show --json 1 | jq -r .state) == ended ]]; }
  eventually ended
  run --separate-stderr berth run -m 2G -- sh -c 'echo $BERTH_LEASE'
  status_is 0
  [[ $output == 2 && $stderr == *"BERTH_LEASE_ID=$BERTH_LEASE_ID has ended: asking for a new lease"* ]]
  for stale in rubbish l_aaaaaaaaaaaaaaaaaaaaaaaaaa; do
    BERTH_LEASE_ID=$stale run --separate-stderr berth run -m 2G -- true
    status_is 0
    [[ $stderr == *"BERTH_LEASE_ID=$stale is"*": asking for a new lease"* ]]
  done
}

@test "a lease of another world is ignored with one line" {
  cat >inner <<'SH'
BERTH_SIM_NAME=other$BERTH_SIM_NAME exec berth run -m 2G -- sh -c 'echo "lease $BERTH_LEASE"'
SH
  run berth run -q -m 4G -- sh inner
  status_is 0
  contains "belongs to another machine, simulated or real: asking for a new lease"
  contains "lease 1"
}
