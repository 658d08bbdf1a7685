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

@test "--lease runs a command in a lease of one's own, from any shell" {
  berth reserve 1h -q -m 4G -n box >id
  run berth run --lease box -- sh -c 'echo "in $BERTH_LEASE with $BERTH_VRAM_BYTES, $CUDA_VISIBLE_DEVICES"; exit 9'
  status_is 9
  contains "berth: joining lease 1 (4.0 GiB on GPU 0)"
  contains "in 1 with 4294967296, 0"
  run berth run -q --lease "$(<id)" -- vram_user --bytes 5GiB
  [[ $status != 0 ]]
  contains "CUDA_ERROR_OUT_OF_MEMORY"
  state_is 1 held
  [[ $(berth ps -a --json | jq '.items | length') == 1 ]]
}

@test "--lease inside of another lease is the one that was named" {
  berth reserve 1h -q -m 2G
  run berth run -q -m 4G -- berth run -q --lease 1 -- sh -c 'echo "$BERTH_LEASE of $BERTH_OUTER_LEASES"'
  status_is 0
  [[ $output == "1 of " ]]
}

@test "--lease of what cannot be joined ends at once, and starts nothing" {
  run berth run --lease 7 -- touch started
  status_is 66
  contains "7"
  run berth run --lease 1..3 -- touch started
  status_is 64
  contains "--lease: '1..3' is not one lease, but several"
  berth reserve 1h -q -x
  berth run -q -m 4G -- true &
  eventually is_waiting 2
  run berth run --lease 2 -- touch started
  status_is 75
  contains "--lease: lease 2 waits for its turn (berth why 2)"
  run berth run --lease 1 -m 1000G -- touch started
  status_is 77
  contains "or another lease, without --lease"
  berth cancel 2
  run berth run --lease 2 -- touch started
  status_is 66
  contains "--lease: lease 2 has ended: berth reserve asks for another one"
  run berth submit --lease 1 -- touch started
  status_is 64
  contains "--lease: a job has a lease of its own (berth run)"
  run berth run --lease 1 --new-lease -- touch started
  status_is 64
  [[ ! -e started ]]
}
is_waiting() { [[ $(of "$1" state) == waiting ]]; }
