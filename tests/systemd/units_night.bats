#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The units, run by systemd as the first process of a machine: what docs/operations.md and
# docs/jobs.md say of them.
load lib

enable_daemon() { on systemctl enable --quiet --now berthd.socket berthd.service; }
daemon() { on systemctl show --property MainPID --value berthd.service; }
is_another_daemon() { [[ $(daemon) != "$1" && $(daemon) != 0 ]]; }
all_is_well() { [[ -z $(on systemctl --failed --plain --no-legend) ]]; }
is_over() { [[ $(of "$1" state) == ended ]]; }
has_begun() { [[ $(of "$1" pid) != null ]]; }
says() { on systemctl --quiet is-active "$1"; }

@test "the socket starts the daemon for the first who asks, and again after it was stopped" {
  on systemctl enable --quiet --now berthd.socket
  fails says berthd.service
  run ada 'berth status'
  status_is 0
  contains "grantable"
  says berthd.service
  [[ $(on berth daemon status --json | jq -r '[.mode, .socket] | join(" ")') == \
    "system /run/berth/berthd.sock" ]]
  local before
  before=$(daemon)
  on systemctl stop berthd.service
  run ada 'berth status'
  status_is 0
  is_another_daemon "$before"
  all_is_well

  on useradd --create-home --shell /bin/bash eve
  run on su -l eve -c 'berth status'
  status_is 77
  contains "only root and the members of its group may"
}

@test "a daemon that is restarted, or killed, has all leases and those who wait, and refuses nobody" {
  enable_daemon
  ada 'berth reserve 10m -m 14G -n holds' >/dev/null
  on su -l ada -c 'berth run -q -m 8G -n next -- true' 3>&- &
  local waits=$! asker before id
  eventually state_is next waiting
  id=$(of holds id)
  (while [[ ! -e $machine/enough ]]; do
    on berth ps --json >/dev/null || echo refused >>"$machine/refused"
  done) 3>&- &
  asker=$!
  for _ in 1 2 3; do
    before=$(daemon)
    on systemctl restart berthd.service
    is_another_daemon "$before"
  done
  before=$(daemon)
  on systemctl kill --kill-whom=main --signal=KILL berthd.service
  eventually is_another_daemon "$before"
  eventually says berthd.service
  touch "$machine/enough"
  wait "$asker"
  [[ ! -e $machine/refused ]]
  [[ $(of holds id) == "$id" ]]
  state_is holds held
  state_is next waiting
  on berth release --yes holds
  wait "$waits"
  all_is_well
}

@test "a daemon that hangs is replaced by one that has all leases" {
  enable_daemon
  [[ $(on systemctl show --property WatchdogUSec --value berthd.service) == 1min ]]
  on mkdir -p /run/systemd/system/berthd.service.d
  on sh -c 'printf "[Service]\nWatchdogSec=2\n" >/run/systemd/system/berthd.service.d/soon.conf'
  on systemctl daemon-reload
  on systemctl restart berthd.service
  ada 'berth reserve 10m -m 14G -n holds' >/dev/null
  local before
  before=$(daemon)
  sleep 5 # It is not ended while it is well.
  [[ $(daemon) == "$before" ]]
  on kill -STOP "$before"
  eventually is_another_daemon "$before"
  [[ $(on systemctl show --property NRestarts --value berthd.service) == 1 ]]
  state_is holds held
  all_is_well
}

@test "log-out with KillUserProcesses ends jobs and their keeper; the next verb starts another one" {
  enable_daemon
  ada 'berth submit -q -m 14G -n runs -- sleep 1000
       berth submit -q -m 8G -n waits -- sleep 1000
       until [[ $(berth show runs --json | jq .pid) != null ]]; do sleep 0.05; done
       berth doctor --json' >"$machine/doctor"
  grep -o '"fact":"log-out ends what you started (/etc/systemd/logind.conf.d/kill.conf)' \
    "$machine/doctor"
  eventually is_over runs
  [[ $(of runs result) == killed ]]
  fails pgrep --ns "$first" --nslist pid -x berth-keeper
  fails state_is waits ended
  # It is offered the GPU, and nobody takes it.
  [[ $(of waits pid) == null ]]
  ada 'berth ps
       until [[ $(berth show waits --json | jq .pid) != null ]]; do sleep 0.05; done'
}

# reboots_with UNIT: jobs live on in it when their user logs out. After a restart of the machine it
# starts those that wait or were to be started again, before anybody has logged in.
reboots_with() {
  ada 'berth submit -q -m 4G --requeue -n again -- sleep 1000
       berth submit -q -m 4G -n once -- sleep 1000
       berth submit -q -m 10G -n waits -- sleep 1000'
  eventually runs_in "$1" sleep
  eventually state_is once held
  sleep 1 # Long enough for logind to end what it would.
  state_is again held
  state_is once held
  runs_in "$1" berth-keeper
  runs_in "$1" sleep

  local begin=$SECONDS
  halt
  # Nothing of ours is waited for until systemd kills it, which would be after 90 s.
  ((SECONDS - begin < 30))
  boot
  eventually runs_in "$1" berth-keeper
  eventually is_over once
  [[ $(of once result) == lost ]]
  eventually state_is again held
  eventually state_is waits held
  eventually runs_in "$1" sleep
  [[ $(on loginctl list-sessions --no-legend) == "" ]]
  all_is_well
}

@test "the keeper of a user who lingers outlives log-out, and comes back with the machine" {
  enable_daemon
  on loginctl enable-linger ada
  eventually says user@1000.service
  ada 'systemctl --user enable --quiet --now berth-keeper'
  [[ $(ada 'berth doctor --json' | jq -r '.items[] | select(.check == "log_out").level') == ok ]]
  reboots_with berth-keeper.service
}

@test "the administrator's keeper of a user does without lingering" {
  enable_daemon
  on systemctl enable --quiet --now berth-keeper@ada
  [[ $(ada 'berth doctor --json' | jq -r '.items[] | select(.check == "log_out").level') == ok ]]
  reboots_with berth-keeper@ada.service
}

@test "jobs of a session that ends with the machine wait again, if they may, and others are over" {
  enable_daemon
  ada 'berth submit -q -m 4G --requeue -n again -- sleep 1000
       berth submit -q -m 4G -n once -- sleep 1000
       touch /srv/sim/submitted
       sleep 1000' 3>&- &
  eventually test -e "$machine/upper/srv/sim/submitted"
  eventually has_begun again
  eventually has_begun once
  halt
  boot
  is_over once
  [[ $(of once result) == killed || $(of once result) == lost ]]
  state_is again waiting
  [[ $(of again restarts) == 1 ]]
  ada 'berth ps
       until [[ $(berth show again --json | jq .pid) != null ]]; do sleep 0.05; done
       berth cancel again'
  eventually is_over again
}

@test "jobs go on while their keeper is restarted" {
  enable_daemon
  on systemctl enable --quiet --now berth-keeper@ada
  ada 'berth submit -q -m 4G -n runs -- sleep 1000'
  eventually runs_in berth-keeper@ada.service sleep
  local pid
  pid=$(of runs pid)
  on systemctl restart berth-keeper@ada
  [[ $(of runs pid) == "$pid" ]]
  state_is runs held
  on berth cancel --yes runs
  eventually is_over runs
}
