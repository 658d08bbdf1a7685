# SPDX-License-Identifier: Apache-2.0
# What one user can do about the files of another's lease, also where he knows its handle.
load lib

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
  for line in 'pause train' 'resume train' 'pause --mode freeze train' 'resume train'; do
    # The mover holds the directory while it works: it waits as long as we do.
    exec {held}<"$directory"
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

@test "the files of a lease are its user's, whoever knows its name" {
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
