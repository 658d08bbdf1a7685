# SPDX-License-Identifier: Apache-2.0
# The files of leases on a small file system of their own, as run-berth-berthd.leases.mount makes a
# larger one, and a user who fills it.
load lib

before_daemon() {
  inside mkdir "$world/runtime/berthd.leases"
  inside mount -t tmpfs -o "$(sed -n 's/^Options=//p' "$units/run-berth-berthd.leases.mount"),size=1M" \
    none "$world/runtime/berthd.leases"
  inside chown "${uid[berth]}:${uid[berth]}" "$world/runtime/berthd.leases"
}

level() { as alice berth doctor --json | command jq -r '.items[] | select(.check == "lease_files").level'; }
is_full() { [[ $(inside df --output=avail "$world/runtime/berthd.leases" | xargs) == "Avail 0" ]]; }
is_held() { [[ $(as alice berth run -q -m 1G -- vram_user --bytes 2GiB 2>&1) == *OUT_OF_MEMORY* ]]; }

@test "a user who fills the file system of leases fills no other, ends no hold, and that is told" {
  [[ $(level) == ok ]]
  fails grep 'no file system of its own' "$world/log"
  as alice berth run -n early -m 1G -- \
    sh -c 'until [ -e go ]; do sleep 0.1; done; exec vram_user --bytes 2GiB' \
    >"$world/early" 2>&1 3>&- &
  local early=$!
  holds bob hog 1GiB -m 2G
  local directory
  directory=$(directory_of bob hog)
  # They keep the file open beyond the lease's end, when nobody looks at its size any more.
  as bob bash -c 'exec 8>>"$1/use"; berth cancel --yes hog
    until [ ! -e "$1" ]; do sleep 0.1; done; echo ended; cat /dev/zero >&8; sleep 60' - "$directory" \
    >"$world/hog.fills" 2>&1 3>&- &
  eventually is_full
  as bob bash -c 'exec 8>>"$1/berthd.leases/x"' - "$world/runtime" 2>&1 | grep -q 'denied'
  [[ $(level) == warn ]]
  inside touch "$world/runtime/room"
  # Who is held already stays so; who comes now is told.
  run --separate-stderr as alice berth run -m 1G -- vram_user --bytes 512MiB
  status_is 0
  contains "not held to its budget"
  eventually grep -q "is not held to its budget: .*No space left on device" "$world/log"
  touch "$world/home.alice/go"
  wait "$early" && return 1
  grep -q OUT_OF_MEMORY "$world/early"
}

@test "where it has none, the daemon and the doctor say so" {
  inside umount "$world/runtime/berthd.leases"
  inside berth daemon stop
  eventually inside test ! -S "$BERTH_SOCKET"
  daemon_up
  eventually grep -q 'berthd.leases has no file system of its own' "$world/log"
  [[ $(level) == warn ]]
}
