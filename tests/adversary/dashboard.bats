#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sessions of browsers at the daemon of the machine: each belongs to the user who asked for it, and
# acts as that user alone.
load lib

# opened USER [OPTION...]: a session of that user; $address, and their $cookie and $key.
opened() {
  local user=$1 said code
  shift
  said=$(as "$user" berth dashboard --no-open "$@" 2>&1)
  address=$(sed -n 's|^\(http://[^ ]*\)$|\1|p' <<<"$said")
  code=$(sed -n 's/^berth: code \([0-9A-Z-]*\),.*/\1/p' <<<"$said")
  [[ -n $address && -n $code ]]
  curl -s -D "$world/head" -o "$world/opened" --data-urlencode "code=$code" "${address}open"
  cookie=$(sed -n 's/^Set-Cookie: \(berth=[^;]*\);.*/\1/p' "$world/head")
  key=$(sed -n 's/.*name="berth-key" content="\([^"]*\)".*/\1/p' "$world/opened")
  [[ -n $cookie && -n $key ]]
}
# asked PATH [CURL-OPTION...]: with the secrets of the session that was opened last.
asked() { curl -s -H "Cookie: $cookie" -H "Berth-Key: $key" "${@:2}" "${address%/}$1"; }
does() { asked "$1" -H 'Content-Type: application/json' -d "${2:-{\}}"; }
status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }

@test "a session acts as the user who asked for it, and as no other" {
  as alice berth reserve -q 1h -m 2G -n hers
  opened bob
  asked /v1/status | jq -e '.leases[0].name == "hers" and .leases[0].user == "alice"'
  does /v1/leases/hers/release | jq -e '.error.code == "not_yours"'
  does /v1/leases/hers/message '{"text":"may I?"}' | jq -e '.messages[0].from == "bob"'
  opened alice
  asked /v1/live --max-time 2 >"$world/heard" || true
  grep '^data:' "$world/heard" | head -n 1 | sed 's/^data: //' | jq -e '.viewer.user == "alice" and .viewer.admin == false'
  does /v1/leases/hers/release | jq -e '.id == 1 and .error == null'
  has_ended() { as alice berth show 1 --json | jq -e '.state == "ended"'; }
  eventually has_ended
}

@test "secrets of one are of no use with those of another" {
  local alices_cookie alices_key
  opened alice
  alices_cookie=$cookie alices_key=$key
  opened bob
  [[ $(status -H "Cookie: $cookie" -H "Berth-Key: $key" "${address}v1/status") == 200 ]]
  [[ $(status -H "Cookie: $cookie" -H "Berth-Key: $alices_key" "${address}v1/status") == 401 ]]
  [[ $(status -H "Cookie: $alices_cookie" -H "Berth-Key: $key" "${address}v1/status") == 401 ]]
}

@test "one user ends their own sessions and nobody else's" {
  local alices_cookie alices_key
  opened alice
  alices_cookie=$cookie alices_key=$key
  opened bob
  run as bob berth dashboard --revoke
  [[ $output == "1 session ended" ]]
  [[ $(status -H "Cookie: $cookie" -H "Berth-Key: $key" "${address}v1/status") == 401 ]]
  [[ $(status -H "Cookie: $alices_cookie" -H "Berth-Key: $alices_key" "${address}v1/status") == 200 ]]
}

@test "who may not connect to the socket gets no session, and the port tells them nothing" {
  opened alice
  fails as carol berth dashboard --no-open
  [[ $(as carol curl -s -o /dev/null -w '%{http_code}' "${address}v1/status") == 401 ]]
  [[ $(as carol curl -s -o /dev/null -w '%{http_code}' "${address}metrics") == 401 ]]
  [[ $(as carol curl -s -o /dev/null -w '%{http_code}' "${address}healthz") == 200 ]]
  # The token and the sessions lie where nobody else can read.
  for file in sessions token; do
    fails as alice cat "$world/state/$file"
  done
}

@test "a session is no way to the daemon itself" {
  opened alice
  does /v1/daemon/stop | jq -e '.error.code == "not_yours"'
  does /v1/daemon/reload | jq -e '.error.code == "not_yours"'
  does /v1/dashboard | jq -e '.error.code == "not_yours"'
  asked /v1/status | jq -e '.devices | length == 1'
}
