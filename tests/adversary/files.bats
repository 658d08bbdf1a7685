# SPDX-License-Identifier: Apache-2.0
# Attacks of one user on the files of another's lease, also where they know its handle; and on
# their own, which lie in memory that all share.
load lib

# the_log_tells TEXT: and it holds no handle.
the_log_tells() {
  eventually grep -qF "$1" "$world/log" || { cat "$world/log" >&2; return 1; }
  ! grep -E 'l_[a-z2-7]{26}' "$world/log"
}

# state_is_of USER LEASE STATE
state_is_of() { [[ $(as "$1" berth show "$2" --json | command jq -r .state) == "$3" ]]; }

# It is at work: what it is told on its command line is there to be read.
has_mover() {
  local pid
  for pid in $(world_processes); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) != berth-mover ]] || return 0
  done
  return 1
}

@test "a handle stands in no command line while a lease is moved, stopped and let go on" {
  holds alice train 1GiB -m 4G
  local directory line pid
  directory=$(directory_of alice train)
  [[ ${directory##*/} == l_* ]]
  install -o "${uid[berth]}" -m 0600 /dev/null "$directory/moving"
  for line in 'pause train' 'resume train' 'pause --mode freeze train' 'resume train'; do
    # The mover holds this while it works: it waits as long as we do.
    exec {held}<>"$directory/moving"
    flock -x "$held"
    # shellcheck disable=SC2086
    as alice berth $line >"$world/said" 2>&1 {held}<&- 3>&- &
    local asking=$!
    eventually has_mover
    for pid in $(world_processes); do
      ! tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -F "${directory##*/}" || {
        echo "$line: in the command line of $(cat "/proc/$pid/comm")" >&2
        return 1
      }
    done
    exec {held}<&-
    wait "$asking" || { cat "$world/said" >&2; return 1; }
  done
  state_is_of alice train held
}

# in_sight_of USER WORD: files of this machine below what the daemon and leases have, the sockets'
# names, and what can be read of processes.
in_sight_of() {
  # Users cannot list $world, and know what is in it.
  as "$1" find "$world"/* -xdev -name "*$2*" 2>/dev/null
  as "$1" grep -rlF --exclude-dir=build --exclude-dir=gpu -- "$2" "$world"/* 2>/dev/null
  as "$1" grep -F -- "$2" /proc/net/unix
  local pid
  for pid in $(world_processes); do
    as "$1" grep -lzF -- "$2" "/proc/$pid/cmdline" "/proc/$pid/environ" 2>/dev/null
  done
  return 0
}

@test "over a whole session, another user sees no handle of a lease" {
  holds alice train 1GiB -m 4G
  local handle line pid
  handle=$(basename "$(directory_of alice train)")
  [[ $handle =~ ^l_[a-z2-7]{26}$ ]]
  [[ -n $(in_sight_of alice "$handle") ]] # Its user does: of the command, by its environment.
  for line in 'pause train' 'resume train' 'resize train -m 3G' 'why train'; do
    # shellcheck disable=SC2086
    as alice berth $line
    [[ -z $(in_sight_of bob "$handle" | tee /dev/stderr) ]]
    for pid in $(pgrep -u "${uid[berth]}"); do # Nor do the daemon's own children carry it.
      fails grep -zF -- "$handle" "/proc/$pid/environ" 2>/dev/null
    done
  done
  for line in 'ps -o json' 'status --json' 'queue --json' 'history --events --json' 'show 1 --json'; do
    # shellcheck disable=SC2086
    run as bob berth $line
    [[ $output != *"$handle"* ]]
  done
  as alice berth release --kill -y train
  eventually the_log_tells "end lease 1"
  [[ -z $(in_sight_of bob "$handle" | tee /dev/stderr) ]]
}

@test "the files of a lease are its user's, also where others know its name" {
  holds alice train 1GiB -m 4G
  local directory file user
  directory=$(directory_of alice train)
  as alice test -r "$directory/limit"
  as alice test -w "$directory/use"
  as alice test ! -w "$directory/limit"
  as alice test ! -w "$directory"
  for user in bob carol; do
    for file in limit use; do
      run as "$user" cat "$directory/$file"
      contains "Permission denied"
      run as "$user" truncate -s 0 "$directory/$file"
      contains "Permission denied"
    done
    run as "$user" ls "$directory"
    contains "Permission denied"
  done
  state_is_of alice train held
}

@test "a user who locks the files of their lease keeps it from no pause" {
  holds alice train 1GiB -m 4G
  local directory
  directory=$(directory_of alice train)
  as alice bash -c 'exec 9<"$1" 8<"$1/limit" 7<"$1/use"
    flock -x 9 && flock -x 8 && flock -x 7 && echo held && sleep 60' - "$directory" \
    >"$world/holder" 2>&1 3>&- &
  eventually grep -q held "$world/holder"
  run as alice berth pause train
  status_is 0
  run as alice flock -n -x "$directory/moving" true
  contains "Permission denied"
}

@test "what a lease's user does to its size ends neither their program nor the space of others" {
  as alice berth run -n train -m 4G -- vram_user --bytes 2GiB --step 16MiB --rate 512MiB --hold 3s \
    >"$world/train" 2>"$world/train.said" 3>&- &
  local job=$! directory size
  eventually eval 'as alice berth show train --json 2>/dev/null | grep -q held'
  directory=$(directory_of alice train)
  eventually test -f "$directory/use"
  size=$(stat -c %s "$directory/use")
  has_its_size() { [[ $(stat -c %s "$directory/use") == "$size" ]]; }
  as alice truncate -s 3G "$directory/use"
  eventually has_its_size
  the_log_tells "lease 1 of user ${uid[alice]} is not held to its budget any more"
  as alice truncate -s 0 "$directory/use"
  eventually has_its_size
  wait "$job" || { echo "its program: $?" >&2; cat "$world/train.said" >&2; return 1; }
  # Another lease of hers begins anew.
  as alice berth run -q -m 1G -- vram_user --bytes 512MiB --quiet
}
