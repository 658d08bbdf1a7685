#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Attacks by the question mark in a path: lists without an end, and two answers to one
# question.
load lib
ASAN_OPTIONS+=:quarantine_size_mb=1 # What it keeps of freed memory is not the daemon's.

@test "a list of all that has ended comes in pages, however it is asked for" {
  local before
  others_are_answered
  attack bob <<'PY'
from attack import *
one = Client()
for _ in range(700):
    status, made = one.ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'command': 'c' * 4096})
    assert status == 201, made
    assert one.ask('POST', f'/v1/leases/{made["id"]}/cancel', {})[0] == 200
PY
  before=$(peak)
  attack bob <<'PY'
from attack import *
one, seen, query = Client(), [], '?all=1'
while query:
    status, page = one.ask('GET', '/v1/leases' + query)
    assert status == 200 and len(page['items']) <= 250, (status, len(page['items']))
    seen = [item['id'] for item in page['items']] + seen
    query = f'?all=1&before={page["next"]}' if page.get('next') else ''
assert seen == list(range(1, 701)), (len(seen), seen[:3])
for limit in '251', '4294967297', '1e3', '0', '-1', '', 'all', '%32%35%31':
    status, said = ask('GET', f'/v1/leases?all=1&limit={limit}')
    assert (status, said['error']['code']) == (400, 'bad_request'), (limit, status)
PY
  attack bob >"$world/pile" 3>&- <<'PY' &
from attack import *
pile = b'GET /v1/leases?all=1 HTTP/1.1\r\nHost: x\r\n\r\n' * 150
greedy = [connect() for _ in range(8)]
print(sum(send_some(one, pile, 0.1) for one in greedy), flush=True)
time.sleep(60)
PY
  eventually test -s "$world/pile"
  others_are_answered
  peak_within "$before" 65536
}

@test "a parameter that is given twice is refused, and not one of the two believed" {
  as alice berth run -q -m 1G -n hers -- true
  local query
  for query in 'leases?all=0&all=1' 'leases?all=1&all=1' 'leases?all=1&%61ll=0' 'leases?limit=1&limit=250' \
    'leases?before=1&limit=2&before=9' 'history?since=1&since=2' 'history?user=60002&user=60001' \
    'history/sessions?since=1&%73ince=2'; do
    run as bob curl -sgS -w ' %{http_code}' --unix-socket "$BERTH_SOCKET" "http://x/v1/$query"
    contains "is given twice"
    [[ $output == *' 400' && $output != *hers* ]] || { echo "$query: $output" >&2; return 1; }
  done
}
