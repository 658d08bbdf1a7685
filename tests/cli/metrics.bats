#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# GET /metrics of the real daemon, and the figures of a GPU that is busy.
load lib

scrape() { # scrape [CURL-OPTION...]
  curl -s "$@" --unix-socket "$(berth daemon status --json | jq -r .socket)" http://localhost/metrics
}
# value SAMPLE: of the sample that begins so.
value() { scrape | grep -v '^#' | grep -F "$1" | sed 's/.* //'; }
# above FIGURE LEAST
above() { awk -v figure="$1" -v least="$2" 'BEGIN { exit !(figure != "" && figure > least) }'; }

@test "metrics tell what status tells, and a lease's series end with it" {
  berth run -q -m 4G -n train -- vram_user --bytes 1GiB --hold forever &
  eventually state_is train held
  has_its_memory() { (($(value berth_lease_memory_used_bytes) > 1000000000)); }
  eventually has_its_memory
  [[ $(value berth_lease_memory_granted_bytes) == $((4 << 30)) ]]
  [[ $(value 'berth_gpu_memory_total_bytes{') == "$(berth status --json | jq '.devices[0].vram_total_bytes')" ]]
  [[ $(value 'berth_gpu_memory_granted_bytes{') == $((4 << 30)) ]]
  scrape | grep -q '^berth_lease_info{lease="1",user="[^"]*",name="train",session="",priority="normal",state="held"} 1$'
  berth cancel train
  eventually state_is train ended
  [[ -z $(value 'lease="1"') ]]
  [[ $(value 'berth_leases_ended_total{result="cancelled"}') == 1 ]]
  [[ $(value 'berth_actions_total{verb="grant"}') == 1 ]]
}

@test "a request that waits for another is handed over, and that is counted" {
  berth run -q -m 12G -n first -- vram_user --bytes 1GiB --hold forever &
  eventually state_is first held
  berth run -q -m 8G -n second -- vram_user --bytes 1GiB --hold forever &
  eventually state_is second waiting
  [[ $(value 'berth_queue_requests{priority="normal"}') == 1 ]]
  [[ $(value berth_handover_seconds_count) == 0 ]]
  berth cancel first
  eventually state_is second held
  [[ $(value berth_handover_seconds_count) == 1 ]]
  above "$(value berth_handover_seconds_sum)" 0
  [[ $(value berth_queue_wait_seconds_count) == 2 ]]
}

@test "OpenMetrics is told to who accepts it" {
  berth status >/dev/null
  scrape -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5' | tail -n 1 | grep -qx '# EOF'
  scrape -D - -o /dev/null | grep -qi '^content-type: text/plain; version=0.0.4; charset=utf-8'
}

@test "at the port they need the token, unless metrics.open" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  echo 'daemon.http = true' >"$XDG_CONFIG_HOME/berth/config.toml"
  berth status >/dev/null
  address=$(berth daemon status --json | jq -r .http_address)
  [[ $(curl -s -o /dev/null -w '%{http_code}' "$address/metrics") == 401 ]]
  echo 'metrics.open = true' >>"$XDG_CONFIG_HOME/berth/config.toml"
  berth daemon stop
  berth status >/dev/null
  address=$(berth daemon status --json | jq -r .http_address)
  curl -s "$address/metrics" | grep -q '^berth_gpu_info'
  [[ $(curl -s -o /dev/null -w '%{http_code}' "$address/v1/status") == 401 ]]
  [[ $(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' "$address/metrics") == 403 ]]
}

@test "files tell dcgm-exporter which leases are on a GPU" {
  mkdir -p "$XDG_CONFIG_HOME/berth" "$world/jobs"
  printf '[metrics]\ngpu_jobs_dir = "%s"\n' "$world/jobs" >"$XDG_CONFIG_HOME/berth/config.toml"
  berth reserve 1h -q -m 2G
  berth reserve 1h -q -m 2G
  [[ $(cat "$world/jobs/0") == $'1\n2' ]]
  berth release 1
  eventually test "$(cat "$world/jobs/0")" == 2
  [[ $(ls -A "$world/jobs") == 0 ]]
}

@test "a busy GPU is shown so everywhere" {
  berth run -q -m 4G -n busy -- vram_user --bytes 1GiB --busy 80% --hold forever &
  berth run -q -m 4G -n resting -- vram_user --bytes 1GiB --hold forever &
  is_busy() { berth status --json | jq -e '.devices[0].gpu_utilization_percent == 80'; }
  eventually is_busy
  berth status --json | jq -e '.devices[0] | .temperature_celsius == 69 and .power_milliwatts == 232800 and
    .power_limit_milliwatts == 300000 and .throttle == "none" and .pcie_lanes == 16'
  [[ $(of busy devices[0].gpu_utilization_percent) == 80 ]]
  [[ $(of resting devices[0].gpu_utilization_percent) == 0 ]]
  COLUMNS=160 berth status | grep -q '80 % busy  69 °C, 232 W'
  COLUMNS=160 berth ps | grep busy | grep -q ' 80 % '
  [[ $(value 'berth_gpu_utilization_ratio{') == 0.8 ]]
  [[ $(value 'berth_gpu_temperature_celsius{') == 69 ]]
  scrape | grep 'berth_lease_utilization_ratio{.*name="busy"}' | grep -q ' 0.8$'
  [[ $(berth query --query-gpu=temperature.gpu,power.draw,enforced.power.limit,clocks.sm,fan.speed,pcie.link.width.current --format=csv,noheader) == \
    "69, 232.80 W, 300.00 W, 1980 MHz, 49 %, 16" ]]
  berth-simctl gauge 0 temperature 91
  is_hot() { berth status --json | jq -e '.devices[0].temperature_celsius == 91'; }
  eventually is_hot
  remembered() {
    berth history --since 1m --of "$1" --json |
      jq -e --arg name "$2" '.items | any(.figure == "utilization" and (.name // "") == $name and
        .percent_max == 80 and .vram_max_bytes == null)'
  }
  eventually remembered device ""
  eventually remembered lease busy
  berth history --since 1m | grep -q 'utilization.* 80 %'
}
