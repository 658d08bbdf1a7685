#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `config`: where values come from, which wins, and what is said of files that are wrong.
load lib

setup() {
  world_up
  mkdir "$world/config/berth"
  file=$world/config/berth/config.toml
}
# origin KEY: its value and where it was set.
origin() { berth config show --origin "${@:2}" | sed -n "s/^${1//./\\.} *= *//p" | tr -s ' '; }

@test "each value has its origin, and later ones win" {
  [[ $(origin policy.order) == '"fair" # built-in' ]]
  printf '[policy]\norder = "fifo"\n\n[client]\noutput = "csv"\n' >"$file"
  [[ $(origin policy.order) == "\"fifo\" # $file:2" ]]
  [[ $(origin client.output -o table) == "\"csv\" # $file:5" ]]
  export BERTH_FORMAT=json
  [[ $(origin client.output -o table) == '"json" # BERTH_FORMAT' ]]
  unset BERTH_FORMAT
  cp "$file" other.toml
  sed -i s/fifo/priority/ other.toml
  export BERTH_CONFIG=$PWD/other.toml
  [[ $(origin policy.order -o table) == "\"priority\" # $PWD/other.toml:2" ]]
}

@test "a project's file sets what a request has, and nothing else" {
  mkdir -p project/below
  printf 'vram = "2GiB"\nwait = "5m"\n' >project/.berth.toml
  cd project/below
  run berth config show --origin
  status_is 0
  [[ $(origin request.vram) == "\"2GiB\" # $world/home/project/.berth.toml:1" ]]
  # Other keys: a line, passed over.
  printf 'vram = "2GiB"\n[policy]\norder = "fifo"\n' >../.berth.toml
  run berth config show --origin
  status_is 0
  contains ".berth.toml:2:2"
  [[ $(origin policy.order 2>/dev/null) == '"fair" # built-in' ]]
  # One that another user may write is passed over whole.
  chmod g+w ../.berth.toml
  run berth config show --origin
  status_is 0
  contains "chmod go-w"
  [[ $output != *".berth.toml:"[0-9]* ]]
}

@test "errors have file, line, column, key and the nearest word, and all of them are told" {
  while IFS='|' read -r text wanted; do
    # shellcheck disable=SC2059
    printf "$text" >"$file"
    for verb in "config check" "config show" status "run -m 1G -- true"; do
      # shellcheck disable=SC2086
      run berth $verb
      status_is 78
      contains "$file:$wanted"
    done
  done <<'ROWS'
[policy]\norder = "fifi"\n|2:9: policy.order
[policy]\nordr = "fifo"\n|2:1: policy.ordr: there is no such key; did you mean 'order'?
[polcy]\n|1:
gpu.reserve = 5\n|1:
gpu.reserve = "5 parsecs"\n|1:
gpu.reserve = "-5GiB"\n|1:
[gpu]\nsample_interval = "0s"\n|2:
[limits]\nleases = 0\n|2:
[limits]\nleases = 99999999999999999999\n|2:
[limits]\nleases = 1.5\n|2:
[policy]\nbackfill = "yes"\n|2:
x = [\n|1:7: is no valid TOML
[policy]\norder = "fifo"\norder = "fair"\n|3:
ROWS
  printf '[policy]\norder = "fifi"\n[gpu]\nreservw = 1\n[limits]\nleases = 0\n' >"$file"
  run berth config check
  status_is 78
  for place in 2:9 4:1 6:10; do contains "$file:$place:"; done
}

@test "check says which files are in order, and names the one that is not there" {
  run berth config check
  status_is 0
  contains "no file is there; the built-in values hold"
  echo '[gpu]' >"$file"
  run berth config check
  status_is 0
  contains "$file: in order"
  run berth config check nowhere.toml
  status_is 66
  run env BERTH_CONFIG="$world/nowhere.toml" berth config check
  status_is 78
  contains "$world/nowhere.toml"
}

@test "what others may write is not believed" {
  echo '[gpu]' >"$file"
  for mode in g+w o+w; do
    chmod 0600 "$file"
    chmod "$mode" "$file"
    run berth run -m 1G -- true
    status_is 78
    contains "chmod go-w"
  done
  rm "$file"
  mkdir "$file"
  run berth ps
  status_is 78
  contains "$file"
}

@test "a key of the daemon changes what it does" {
  printf '[policy]\ndefault_vram = "3GiB"\n[gpu]\nreserve = "2GiB"\n' >"$file"
  run --separate-stderr berth run -- sh -c 'echo $BERTH_VRAM_BYTES'
  status_is 0
  [[ $output == 3221225472 ]]
  contains 'no -m: asking for 3.0 GiB (default_vram = "3G")'
  [[ $(berth status --json | jq .devices[0].vram_reserve_bytes) == $((2 << 30)) ]]
  run berth fit 15G
  status_is 64
  contains "14.0 GiB"
}

@test "the machine's values are shown too, and schema and default agree with them" {
  [[ $(berth config show --system | grep -c "^limits.waiting *= 256") == 1 ]]
  berth config default >default.toml
  run berth config check "$PWD/default.toml"
  status_is 0
  for key in $(berth config show --json | jq -r '.items[].key' | grep -v '^request'); do
    grep -q "${key##*.}" default.toml || { echo "$key is not in the default file"; return 1; }
    berth config schema | jq -e --arg a "${key%%.*}" --arg b "${key##*.}" \
      '.properties[$a].properties[$b]' >/dev/null || { echo "$key is not in the schema"; return 1; }
  done
}
