# SPDX-License-Identifier: Apache-2.0
# A runtime directory whose file system keeps no access control lists.
load lib

before_daemon() {
  inside mount -t ramfs none "$world/runtime"
  inside chown "${uid[berth]}:${uid[berth]}" "$world/runtime"
  inside chmod 0755 "$world/runtime"
}

@test "a lease whose files cannot be opened to its user alone is not held, and that is said" {
  run --separate-stderr as alice berth run -m 1G -n train -- vram_user --bytes 512MiB
  status_is 0
  contains "not held to its budget: the daemon has made no"
  eventually grep -F "lease 1 of user ${uid[alice]} is not held to its budget: the file system of " "$world/log"
  eventually grep -F "no access control lists" "$world/log"
  fails grep -E 'l_[a-z2-7]{26}' "$world/log"
  run --separate-stderr as alice berth run -m 1G --enforce guard -- vram_user --bytes 512MiB
  status_is 69
}

@test "a daemon that is root gives the file to its user" {
  as alice berth status >/dev/null
  local pid
  for pid in $(world_processes); do
    [[ $(cat "/proc/$pid/comm") != berthd ]] || kill "$pid"
  done
  eventually inside test ! -S "$BERTH_SOCKET"
  inside chown -R root:root "$world/state" "$(dirname "$BERTH_SOCKET")" /run/berth
  daemon_up root
  inside chmod 0666 "$BERTH_SOCKET"
  as alice berth run -n train -m 1G -- vram_user --bytes 512MiB --hold 60s \
    >"$world/train" 2>"$world/train.said" 3>&- &
  eventually grep -q holding "$world/train"
  fails grep "not held" "$world/train.said"
  run as alice berth run -q -m 1G -- vram_user --bytes 2GiB
  contains CUDA_ERROR_OUT_OF_MEMORY
  local directory
  directory=$(directory_of alice train)
  run as bob truncate -s 0 "$directory/use"
  contains "Permission denied"
  run as bob ls "$directory"
  contains "Permission denied"
}
