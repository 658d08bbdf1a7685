#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Debian's Prometheus scrapes the daemon: the rules that we ship hold by promtool's tests, and every
# query of the rules and of the Grafana board is answered with data of the simulated GPU.
load ../cli/lib
load packages

setup() {
  world_up
  have_packages prometheus
  PATH=$others/tree/usr/bin:$PATH
  root=$(git -C "$BATS_TEST_DIRNAME" rev-parse --show-toplevel)
}
teardown() {
  [[ -z ${server-} ]] || { kill "$server" && wait "$server" || true; } 2>/dev/null
  world_down
}

# answers PATH [CURL-OPTION...]: what Prometheus says.
answers() { curl -sf "http://127.0.0.1:$web_port$1" "${@:2}"; }

# scraped: a daemon whose GPU is busy, one lease that waited for another, and Prometheus beside it.
scraped() {
  web_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '%s\n' 'daemon.http = true' 'metrics.open = true' >"$XDG_CONFIG_HOME/berth/config.toml"
  berth run -q -m 12G -n first -- vram_user --bytes 2GiB --busy 80% --hold forever &
  eventually state_is first held
  berth-simctl gauge 0 throttle 32
  local target
  target=$(berth daemon status --json | jq -r '.http_address | ltrimstr("http://")')
  cat >"$world/prometheus.yml" <<YML
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$root/integrations/prometheus/berth.rules.yml]
scrape_configs:
  - job_name: berth
    static_configs: [{targets: ["$target"]}]
YML
  prometheus --config.file="$world/prometheus.yml" --storage.tsdb.path="$world/tsdb" \
    --web.listen-address="127.0.0.1:$web_port" >"$world/prometheus.log" 2>&1 3>&- &
  server=$!
  is_up() { answers /api/v1/query -G -d 'query=up{job="berth"}' | jq -e '.data.result[0].value[1] == "1"'; }
  eventually is_up
  berth run -q -m 12G -n second -- vram_user --bytes 2GiB --busy 50% --hold forever &
  eventually state_is second waiting
  sleep 3
}

@test "what is scraped is in order, in both forms" {
  berth run -q -m 4G -n 'a "quoted" name' -- vram_user --bytes 1GiB --busy 80% --hold forever &
  eventually state_is 1 held
  local socket
  socket=$(berth daemon status --json | jq -r .socket)
  curl -s --unix-socket "$socket" http://localhost/metrics >"$world/metrics"
  promtool check metrics <"$world/metrics"
  curl -s --unix-socket "$socket" -H 'Accept: application/openmetrics-text' http://localhost/metrics >"$world/open"
  grep -v '^# UNIT\|^# EOF' "$world/open" | grep -vc '^#' >"$world/count"
  [[ $(cat "$world/count") == $(grep -vc '^#' "$world/metrics") ]]
}

@test "the rules fire when they should" {
  promtool check rules "$root/integrations/prometheus/berth.rules.yml"
  promtool test rules "$root/integrations/prometheus/berth.rules_test.yml"
}

@test "every query of the rules and of the board has an answer" {
  scraped
  berth cancel first
  eventually state_is second held
  sleep 4
  python3 - "$root" "http://127.0.0.1:$web_port" <<'PY'
import json, re, sys, urllib.error, urllib.parse, urllib.request

root, address = sys.argv[1:]
board = json.load(open(root + '/integrations/grafana/berth.json', encoding='utf-8'))
rules = open(root + '/integrations/prometheus/berth.rules.yml', encoding='utf-8').read()

def ask(query):
    url = address + '/api/v1/query?' + urllib.parse.urlencode({'query': query})
    try:
        return json.load(urllib.request.urlopen(url, timeout=20))['data']['result']
    except urllib.error.HTTPError as error:
        sys.exit(f'{query}: {error.read().decode()}')

def as_grafana(query):
    for name, value in ('$instance', '.*'), ('$gpu', '.*'), ('$__rate_interval', '8s'):
        query = query.replace(name, value)
    return query

queries = [(panel['title'], as_grafana(target['expr'])) for panel in board['panels']
           for target in panel['targets']]
assert len(queries) > 30 and not any('$' in query for _, query in queries)
for title, query in queries:
    result = ask(query)
    assert result, f'{title}: no data: {query}'
    assert all(one['value'][1] != 'NaN' for one in result), f'{title}: {query}: {result}'
for annotation in board['annotations']['list']:
    ask(as_grafana(annotation['target']['expr']))
recorded = re.findall(r'- record: (\S+)', rules)
assert len(recorded) == 6
for name in recorded:
    assert ask(name), f'{name} is not recorded'
alerts = json.load(urllib.request.urlopen(address + '/api/v1/rules?type=alert', timeout=20))
alerts = [rule for group in alerts['data']['groups'] for rule in group['rules']]
assert len(alerts) == 12 and all(rule['health'] == 'ok' for rule in alerts), alerts
# Of heat, and that the GPU is held down by it.
assert {rule['name'] for rule in alerts if rule['state'] != 'inactive'} == {'BerthGpuThrottled'}, alerts
PY
}

@test "a series ends with its lease" {
  scraped
  held_now() { answers /api/v1/query -G -d 'query=berth_lease_memory_granted_bytes' | jq -e ".data.result | map(.metric.lease) == $1"; }
  eventually held_now '["1"]'
  berth cancel first
  eventually held_now '["2"]'
}

@test "the board is what make writes" {
  "$root/integrations/grafana/make" | diff - "$root/integrations/grafana/berth.json"
}
