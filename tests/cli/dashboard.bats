#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth dashboard`: a session for a browser, and what it may do.
load lib

# opened [OPTION...]: sets $address, $cookie and $key to those of a new session.
opened() {
  berth dashboard --no-open "$@" >"$world/address" 2>"$world/said"
  address=$(cat "$world/address")
  code=$(sed -n 's/^berth: code \([0-9A-Z-]*\),.*/\1/p' "$world/said")
  [[ -n $code ]]
  curl -s -D "$world/head" -o "$world/opened" --data-urlencode "code=$code" "${address}open"
  cookie=$(sed -n 's/^Set-Cookie: \(berth=[^;]*\);.*/\1/p' "$world/head")
  key=$(sed -n 's/.*name="berth-key" content="\([^"]*\)".*/\1/p' "$world/opened")
  [[ -n $cookie && -n $key ]]
}
# asked PATH [CURL-OPTION...]: with the secrets of the session; prints the answer.
asked() { curl -s -H "Cookie: $cookie" -H "Berth-Key: $key" "${@:2}" "${address%/}$1"; }
# status CURL-OPTION...: the status of the answer.
status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }

@test "a code opens the page once, for the user who asked" {
  opened
  [[ $address == http://127.0.0.1:*/ ]]
  [[ $(status -H "Cookie: $cookie" "$address") == 200 ]]
  asked / | grep -q /app.js
  asked /app.js -H 'Accept-Encoding: gzip' --compressed | cmp - "$(git -C "$BATS_TEST_DIRNAME" rev-parse --show-toplevel)/web/page/app.js"
  [[ $(status -d "code=$code" "${address}open") == 401 ]]
  asked /v1/status | jq -e '.devices | length == 1'
}

@test "without a session there is nothing but a form" {
  opened
  for path in / app.js v1/status v1/live v1/history; do
    [[ $(status "$address$path") == 401 ]]
  done
  [[ $(status "${address}healthz") == 200 ]]
  [[ $(status -H "Cookie: $cookie" "${address}v1/status") == 401 ]]
  [[ $(status -H "Berth-Key: $key" "${address}v1/status") == 401 ]]
}

@test "a session acts as its user, and one for looking does not" {
  berth run -q -m 2G -n train -- vram_user --bytes 1GiB --hold forever &
  eventually state_is train held
  opened --read-only
  asked /v1/leases/train/freeze -H 'Content-Type: application/json' -d '{}' | jq -e '.error.code == "not_yours"'
  asked /v1/status | jq -e '.leases[0].name == "train"'
  opened
  asked /v1/leases/train/freeze -H 'Content-Type: application/json' -d '{}' | jq -e '.flags | index("frozen")'
  asked /v1/dashboard -H 'Content-Type: application/json' -d '{}' | jq -e '.error.code == "not_yours"'
}

@test "a job's log, how its loss went and what the doctor finds are read for their user" {
  berth submit -q -m 2G -n train -- bash -c 'printf "caf\303\251 \377 \033[1mbold\033[0m\n"; sleep 60'
  eventually state_is train held
  eventually bash -c 'berth logs 1 | grep -q bold'
  curl -s --unix-socket "$(berth daemon status --json | jq -r .socket)" -H 'Content-Type: application/json' \
    -d '{"done":7,"total":9,"loss":2.5,"phase":"warmup"}' http://berth/v1/leases/1/progress >/dev/null
  opened --read-only
  asked /v1/leases/train/log | jq -e '.job == "1" and .attempt == 1 and .over == false and .whole'
  asked /v1/leases/train/log | jq -e '.text == "café \ufffd \u001b[1mbold\u001b[0m\n"'
  asked /v1/leases/train/progress | jq -e '.items | length == 1 and .[0].loss == 2.5 and .[0].phase == "warmup"'
  asked /v1/leases/train | jq -e '.progress.loss == 2.5 and .progress.phase == "warmup"'
  asked /v1/doctor | jq -e '.schema == "berth/doctor/v1" and ([.items[] | select(.group == "daemon" and .level == "ok")] | length > 0)'
  berth run -q -m 2G -n plain -- vram_user --bytes 1GiB --hold forever &
  eventually state_is plain held
  asked /v1/leases/plain/log | jq -e '.error.message | contains("is no job of yours")'
  # As many as may be run at once, and more.
  local asking=()
  for n in {1..12}; do
    asked /v1/doctor >"$world/answer.$n" &
    asking+=($!)
  done
  wait "${asking[@]}"
  jq -e -s 'length == 12 and all(.schema == "berth/doctor/v1" or .error.code == "busy")' "$world"/answer.*
  jq -e -s 'any(.schema == "berth/doctor/v1")' "$world"/answer.*
  [[ -z $(pgrep -P "$(berth daemon status --json | jq .pid)" -r Z) ]]
}

@test "what a session hears is live" {
  opened
  asked /v1/live --no-buffer >"$world/heard" &
  eventually grep -q '^event: snapshot' "$world/heard"
  berth run -q -m 2G -n later -- vram_user --bytes 1GiB --hold forever &
  eventually grep -q '"name":"later"' "$world/heard"
}

@test "sessions outlive the daemon, and end by --revoke" {
  opened
  port=${address##*:} port=${port%/}
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf 'daemon.http = true\ndaemon.http_port = %s\n' "$port" >"$XDG_CONFIG_HOME/berth/config.toml"
  kill -KILL "$(berth daemon status --json | jq .pid)"
  eventually berth status
  asked /v1/status | jq -e '.devices | length == 1'
  [[ $(stat -c %a "$(berth daemon status --json | jq -r .state_dir)/sessions") == 600 ]]
  run berth dashboard --revoke
  [[ $output == "1 session ended" ]]
  [[ $(status -H "Cookie: $cookie" -H "Berth-Key: $key" "${address}v1/status") == 401 ]]
}

@test "pages of others are refused" {
  opened
  for origin in http://evil.example null http://127.0.0.1:1; do
    [[ $(status -H "Cookie: $cookie" -H "Berth-Key: $key" -H "Origin: $origin" "${address}v1/status") == 403 ]]
  done
  [[ $(status -H "Cookie: $cookie" -H "Host: evil.example" "$address") == 403 ]]
}

@test "a browser is given a file, and the code stands in no argument" {
  mkdir "$world/bin"
  printf '#!/bin/sh\necho "$@" >"%s/args"\ncp "$1" "%s/given"\nstat -c %%a "$1" >"%s/mode"\n' \
    "$world" "$world" "$world" >"$world/bin/xdg-open"
  chmod +x "$world/bin/xdg-open"
  DISPLAY=:1 PATH=$world/bin:$PATH berth dashboard 2>"$world/said"
  eventually test -s "$world/mode"
  code=$(sed -n 's/^berth: code \([0-9A-Z-]*\),.*/\1/p' "$world/said")
  fails grep -q "$code" "$world/args"
  grep -q "$code" "$world/given"
  [[ $(cat "$world/mode") == 600 ]]
}

@test "options that say nothing together are refused" {
  run berth dashboard --revoke --read-only
  [[ $status == 64 ]]
}
