# SPDX-License-Identifier: Apache-2.0
# A session that grows more than it should, from the first warning to the end.
load lib


@test "a job that leaks is announced, saves itself, gives way to an urgent one and comes back intact; a third never notices" {
  berth status >/dev/null
  curl -sN --unix-socket "$(berth daemon status --json | jq -r .socket)" http://berth/v1/events >events 3>&- &
  berth run -n third -m 3G -- vram_user --bytes 2GiB --hold 60s --active --verify >third 2>third.said 3>&- &
  eventually grep -q holding third
  cat >leak.sh <<'SCRIPT'
vram_user --bytes 9GiB --rate 2GiB --hold 2s --verify
SCRIPT
  berth run -n leak --yield -m 10G --checkpoint "cmd:echo saved >state" -- bash leak.sh >leak 2>leak.said 3>&- &
  local leak=$!

  # At 62 % it is told, at 88 % it saves itself.
  level() { grep -A2 "^event: pressure" events | grep '"name": *"leak"' | grep -q "\"pressure\": *\"$1\""; }
  patience=20 eventually level warn
  patience=20 eventually level critical
  eventually grep -q "lease 2 uses" leak.said
  eventually grep -q "lease 2 has saved itself" leak.said
  grep -q saved state

  berth run -n urgent -p urgent -m 12G -- vram_user --bytes 11GiB --hold 1s --verify >urgent 2>&1
  wait "$leak" # 0: all that it had written was there again.
  grep -q "lease 2 is suspended for lease 3 (root/urgent, priority urgent); its GPU memory is in host memory" leak.said
  grep -q "lease 2 has resumed" leak.said

  # Nothing was said to the third, and it never had to wait for its memory.
  fails grep -q "paused\|has resumed\|uses" third.said
  fails grep -q waited third
  state_is third held
}
