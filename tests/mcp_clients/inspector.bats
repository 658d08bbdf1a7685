#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The protocol's inspector against `berth mcp`: its strict reading of our tools, and its load test.
load lib

setup() {
  world_up
  with_packages
}

# inspect ARGUMENT...: on standard output what the server answered, in JSON.
inspect() {
  HOME=$world tool @modelcontextprotocol/inspector --cli --format json --quiet "$@" \
    2>"$world/inspector.log" || { tail -n 20 "$world/inspector.log" >&2 && return 1; }
}

serve_http() {
  serve berth mcp --http 0
  token=$(<"$(sed -n 's/.*token in \(.*\): Authorization.*/\1/p' "$world/said")")
  at_url=(--transport http --server-url "$url" --header "Authorization: Bearer $token")
}

# Of an error it would end with 6. It warns that null is a second type of fields of answers, which is
# legal, and not for clients that know one type a field; of arguments it has nothing to say.
@test "the strictest reading finds no error in a tool, in both eras" {
  for era in legacy modern; do
    inspect --protocol-era "$era" --method tools/list --strict berth mcp >"$world/$era"
    [[ $(jq '.result.tools | length' "$world/$era") == 9 ]]
  done
  HOME=$world tool @modelcontextprotocol/inspector --cli --method tools/list --strict berth mcp \
    >"$world/list" 2>"$world/warnings"
  grep 'Issue:' "$world/warnings" >"$world/issues"
  fails grep -v 'Issue: `type` is an array (\["[a-z]*","null"\])' "$world/issues"
  fails grep 'Path: inputSchema' "$world/warnings"
  serve_http
  inspect "${at_url[@]}" --protocol-era modern --method tools/list --strict >"$world/http"
  [[ $(jq '.result.tools | length' "$world/http") == 9 ]]
}

@test "resources and prompt are listed and read in both eras" {
  for era in legacy modern; do
    inspect --protocol-era "$era" --method resources/read --uri gpu://status berth mcp |
      jq -e '.result.contents[0].uri == "gpu://status"'
    inspect --protocol-era "$era" --method prompts/get --prompt-name share_gpu berth mcp |
      jq -e '.result.messages | length > 0'
  done
}

@test "fifty calls at a time are answered without an error" {
  serve_http
  for era in legacy modern; do
    inspect "${at_url[@]}" --protocol-era "$era" --method tools/call --tool-name gpu_status \
      --load --load-concurrency 50 --load-requests 2000 >"$world/load"
    cat "$world/load"
    jq -e '.result | .ok == 2000 and .errors == 0 and .toolErrors == 0' "$world/load"
  done
}
