# SPDX-License-Identifier: Apache-2.0
# Programs on a GPU without a lease, under each policy, and sessions on a GPU that they were not
# given.
sim=2x16GiB
load lib

gib=$((1 << 30))

# policy WORD: of programs without a lease. Before the daemon starts.
policy() {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf 'policy.unmanaged = "%s"\ngpu.sample_interval = "100ms"\n' "$1" \
    >"$XDG_CONFIG_HOME/berth/config.toml"
  berth daemon start
}

# unmanaged SIZE FILE: uses that much of GPU 0 without a lease, until it is killed.
unmanaged() {
  local library
  library=$(dirname "$(command -v berth)")/../lib/simgpu
  LD_LIBRARY_PATH=$library vram_user --bytes "$1" --hold 600s >"$2" 2>&1 3>&- &
  pid=$!
  eventually grep -q holding "$2"
}

# listen: all news into the file `news`.
listen() {
  curl -sN --unix-socket "$(berth daemon status --json | jq -r .socket)" \
    http://localhost/v1/events >news 2>&1 3>&- &
  # The stream opens with a comment.
  eventually test -s news
}
# told EVENT: the data of each such event, a line each.
told() { sed -n "/^event: $1\r*\$/,/^\r*\$/s/^data: //p" news; }
device() { berth status --json | jq -r ".devices[0].$1"; }
is() { [[ $(device "$1") == "$2" ]]; }
more_than() { (($(device "$1") > $2)); }

@test "account: who has no lease is shown with user, name and bytes, and held back in silence" {
  policy account
  listen
  unmanaged 4GiB held
  eventually more_than vram_held_back_bytes $((4 * gib))
  run --separate-stderr berth status --json
  jq -e ".devices[0].unmanaged_processes[0] | .pid == $pid and .user == \"$(id -un)\" and
    .name == \"vram_user\" and .lease == null and .vram_used_bytes > $((4 * gib))" <<<"$output"
  jq -e '.devices[0].vram_ignored_bytes == 0' <<<"$output"
  run --separate-stderr berth ps
  contains "$(id -un) (unmanaged)"
  contains vram_user
  run berth run -m 14G -g 0, --no-wait -- true
  status_is 75
  [[ -z $(told unmanaged_seen) ]]
}

@test "warn: who comes and who has gone is told once each, in the log and to who listens" {
  policy warn
  listen
  unmanaged 1GiB held
  seen() { [[ -n $(told unmanaged_seen) ]]; }
  eventually seen
  # It may have been seen before it had all of its memory.
  jq -e ".pid == $pid and .user == \"$(id -un)\" and .name == \"vram_user\" and .index == 0 and
    .vram_used_bytes >= $((gib / 4))" <<<"$(told unmanaged_seen)"
  eventually more_than vram_held_back_bytes "$gib"
  kill -KILL "$pid"
  gone() { [[ -n $(told unmanaged_gone) ]]; }
  patience=40 eventually gone
  [[ $(jq .pid <<<"$(told unmanaged_gone)") == "$pid" ]]
  [[ $(told unmanaged_seen | wc -l) == 1 && $(told unmanaged_gone | wc -l) == 1 ]]
  run berth daemon logs
  contains "GPU 0: vram_user (pid $pid, uid $(id -u)) uses "
  contains "GPU 0: vram_user (pid $pid, uid $(id -u)) uses it no more"
}

@test "ignore: what they use is granted all the same, and they stay shown" {
  policy ignore
  unmanaged 4GiB held
  eventually more_than vram_ignored_bytes $((4 * gib))
  is vram_held_back_bytes $((gib / 2))
  more_than vram_unmanaged_bytes $((4 * gib))
  run --separate-stderr berth ps
  contains "$(id -un) (unmanaged)"
  run berth run -q -m 15G -g 0, --no-wait -- true
  status_is 0
  run berth run -q -x -g 0, --no-wait -- true
  status_is 0
  run berth doctor
  contains 'policy.unmanaged = "ignore"'
}

@test "a reload changes the policy" {
  policy account
  unmanaged 4GiB held
  eventually more_than vram_held_back_bytes $((4 * gib))
  sed -i s/account/ignore/ "$XDG_CONFIG_HOME/berth/config.toml"
  berth daemon reload
  eventually is vram_held_back_bytes $((gib / 2))
  sed -i s/ignore/account/ "$XDG_CONFIG_HOME/berth/config.toml"
  berth daemon reload
  eventually more_than vram_held_back_bytes $((4 * gib))
}

# astray OPTION...: a session on GPU 0 whose program sets CUDA_VISIBLE_DEVICES itself.
astray() {
  policy account
  berth run -m 4G -g 0, -- env "$@" CUDA_VISIBLE_DEVICES=1 \
    vram_user --bytes 2GiB --hold 600s >held 2>said 3>&- &
  eventually grep -q holding held
  told_by_run() { grep -q "lease 1: vram_user (pid .*) uses .* of GPU 1, which the lease was not given" said; }
  eventually told_by_run
  uses_all() { [[ $(berth show 1 --json | jq ".strays[0].vram_used_bytes > $((2 * gib))") == true ]]; }
  eventually uses_all
  run --separate-stderr berth show 1 --json
  jq -e ".flags == [\"astray\"] and (.strays | length) == 1 and (.strays[0] | .index == 1 and
    .name == \"vram_user\")" <<<"$output"
  stray=$(jq .strays[0].pid <<<"$output")
  # On the other GPU it is unmanaged, and the lease is charged its budget where it is.
  run --separate-stderr berth status --json
  jq -e ".devices[1].vram_unmanaged_bytes > $((2 * gib)) and .devices[1].vram_charged_bytes == 0 and
    .devices[1].unmanaged_processes[0].lease == 1 and .devices[1].unmanaged_processes[0].pid == $stray and
    .devices[0].vram_charged_bytes == $((4 * gib))" <<<"$output"
  run --separate-stderr berth ps
  contains "held,astray"
  contains "(lease 1, astray)"
  run --separate-stderr berth show 1
  contains "vram_user (pid $stray) uses 2."
  run berth doctor
  contains "vram_user $stray of lease 1 uses 2."
  [[ $(grep -c "was not given" said) == 1 ]]
  kill -KILL "$stray"
  strays_gone() { [[ $(berth ps 1 --json | jq -c '.items[0].strays') == "[]" ]]; }
  eventually strays_gone
}

@test "a session on a GPU that it was not given is reported, under the guard" { astray A=b; }

@test "a session on a GPU that it was not given is reported, without the guard" {
  astray BERTH_DISABLE=1
}
