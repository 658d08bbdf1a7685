# SPDX-License-Identifier: Apache-2.0
# A killed process's memory is the lease's until the driver has freed it.
load lib

# How much is in use on the GPU, in MiB, again and again.
watch_use() {
  while [[ -e $world/watching ]]; do
    berth-simctl show | jq '.devices[0].used_bytes / 1048576 | floor'
    sleep 0.05
  done
}

@test "what was killed is given out again when the driver has freed it, and not before" {
  berth-simctl teardown 1500ms
  touch "$world/watching"
  watch_use >use 2>/dev/null 3>&- &
  local watcher=$!
  berth run -q -m 3G -n job -- bash -c '
    vram_user --bytes 2500MiB --hold 60s >one 2>&1 &
    until grep -q holding one; do sleep 0.05; done
    kill -KILL $!
    date +%s%N >killed
    vram_user --bytes 2500MiB >two 2>&1
    echo $? >code
    date +%s%N >done'
  rm "$world/watching"
  wait "$watcher"
  cat two
  [[ $(<code) == 0 ]]
  (($(<done) - $(<killed) >= 1400000000))
  [[ $(sort -n use | tail -n 1) -ge 2500 ]]
  [[ $(sort -n use | tail -n 1) -le 3072 ]]
}

@test "a neighbour has its whole budget while a killed process is torn down" {
  berth-simctl teardown 1500ms
  berth run -q -m 3G -n job -- bash -c '
    vram_user --bytes 2500MiB --hold 60s >one 2>&1 &
    until grep -q holding one; do sleep 0.05; done
    kill -KILL $!
    touch killed
    vram_user --bytes 2500MiB --hold 60s >two 2>&1' 3>&- &
  eventually test -e killed
  berth run -q -m 12G -- vram_user --bytes 11900MiB
}

@test "a program finds what the one before it had, also if that lived for a moment" {
  berth run -q -m 3G -- bash -c 'for i in 1 2 3 4 5 6 7 8; do vram_user --bytes 2500MiB || exit; done'
}

@test "without a daemon it is given out after some seconds" {
  berth run -q -m 3G -n job -- bash -c '
    vram_user --bytes 2500MiB --hold 60s >one 2>&1 &
    until grep -q holding one; do sleep 0.05; done
    touch holding
    until [[ -e away ]]; do sleep 0.05; done
    kill -KILL $!
    vram_user --bytes 2500MiB >two 2>&1
    echo $? >code' 3>&- &
  eventually test -e holding
  kill -KILL "$(berth daemon status --json | jq .pid)"
  touch away
  eventually test -s code
  [[ $(<code) == 0 ]]
}

@test "in a container, too" {
  unshare --user --map-root-user --pid --fork true 2>/dev/null || skip "no namespaces for this user"
  berth run -q -m 3G -- bash -c '
    unshare --user --map-root-user --pid --fork --mount-proc vram_user --bytes 2500MiB &&
      vram_user --bytes 2500MiB'
}

@test "the daemon hears of each program that ends, however short it lived" {
  echo 'gpu.sample_interval = "60s"' >"$world/config.toml"
  export BERTH_CONFIG=$world/config.toml
  berth run -q -m 3G -n job -- bash -c '
    vram_user --bytes 1GiB --hold 60s >held 2>&1 &
    until grep -q holding held; do sleep 0.05; done
    kill -KILL $!
    touch done
    sleep 60' 3>&- &
  eventually test -e done
  eventually is_nobodys
}
# The first slots of the ledger of the one lease: their owners are at 320 (guard/layout.h).
is_nobodys() {
  local words
  words=$(od -An -v -t u8 -j 320 -N 64 "$(find "$world" -name use)") && [[ -z ${words//[ 0$'\n']/} ]]
}
