# SPDX-License-Identifier: Apache-2.0
# Leases that go on on another GPU, on real processes.
load lib

sim=2x16GiB:A,1x16GiB:B,cuda=13.0
gib=$((1 << 30))

# hold NAME BYTES TIME: a lease on GPU 0 whose program writes a pattern, and checks it at its end.
hold() {
  berth run -n "$1" -g 0, -m 10G -- vram_user --bytes "$2" --hold "$3" --verify >"$1" 2>"$1.said" 3>&- &
  eventually grep -q holding "$1"
}

@test "a lease goes on on another GPU, with its memory as it was, held to its budget there" {
  hold it 8GiB 5s
  local it=$!
  run berth move it --to 1
  status_is 0
  contains "lease 1 (root/it) has moved to GPU 1"
  state_is it held
  there() { (($(used 0) < gib && $(used 1) >= 8 * gib)); }
  eventually there
  eventually grep -q "lease 1 is being moved to GPU 1 by you" it.said
  eventually grep -q "lease 1 runs on GPU 1 now" it.said
  fails grep -q "paused" it.said
  charged() { (($(of it 'devices[0].vram_ledger_bytes // 0') >= 8 * gib)); }
  eventually charged # The account of its own programs is of the new GPU.
  berth run -n next -g 0, -m 12G -- true
  wait "$it"
}

@test "a paused lease stays paused, and returns to where it was moved; also after its daemon" {
  hold it 4GiB 6s
  local it=$!
  berth pause it
  run berth move it --to 1
  status_is 0
  contains "stays paused, and returns to GPU 1 (berth resume 1)"
  state_is it suspended
  kill -KILL "$(berth daemon status --json | jq .pid)"
  berth resume it
  there() { (($(used 0) < gib && $(used 1) >= 4 * gib)); }
  eventually there
  wait "$it"
}

@test "where it cannot go it runs on, and the reason is told" {
  hold it 4GiB 60s
  run berth move it --to 2
  status_is 64
  contains "is of another model than GPU 0"
  run berth move it --to 0
  contains "is there already"
  run berth move it --to 9
  contains "there is no GPU 9 here"
  run berth move it
  status_is 64
  contains "say where: --to GPU"
  berth run -n other -g 1, -m 10G -- sleep 60 3>&- &
  eventually state_is other held
  run berth move it --to 1
  status_is 75
  contains "it would wait there (berth pause 1 first, if it may)"
  run berth move it --to 1 --dry-run
  contains "of 1 (root/it) from GPU 0 to GPU 1"
  state_is it held
}

@test "a driver that cannot bring memory back elsewhere is named before anything is moved" {
  export BERTH_SIM=2x16GiB,cuda=12.9
  hold it 1GiB 60s
  run berth move it --to 1
  status_is 64
  contains "brings memory back only to the GPU on which it was (580 can bring it to another)"
  state_is it held
}
