#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth-notify` in a session of its own: a real D-Bus daemon and a notification server that writes
# down what it is shown. Where an alert must be just so, what the program follows is a stand-in for
# the daemon that says what the test writes; else it is the daemon.
load lib

# session: a session bus that knows no programs to start, as DBUS_SESSION_BUS_ADDRESS.
session() {
  cat >"$world/bus.conf" <<XML
<busconfig><type>session</type><listen>unix:path=$world/bus</listen><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
XML
  dbus-daemon --config-file="$world/bus.conf" --nofork --nopidfile 2>/dev/null 3>&- &
  bus=$!
  eventually test -S "$world/bus"
  export DBUS_SESSION_BUS_ADDRESS=unix:path=$world/bus
}
# server CAPABILITY...: has the session show notifications; what it is shown is in $world/shown.
server() {
  "$(dirname "$(type -P berth)")/tests/notification_server" "$@" >>"$world/shown" 3>&- &
  server=$!
  eventually owned
}
owned() {
  dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.NameHasOwner string:org.freedesktop.Notifications | grep -q true
}
# act METHOD ARGUMENT...: what a person does with a notification.
act() {
  dbus-send --session --print-reply --dest=org.freedesktop.Notifications \
    /org/freedesktop/Notifications "org.freedesktop.Notifications.$1" "${@:2}" >/dev/null
}
notifier() {
  berth-notify 2>"$world/said" 3>&- &
  notifier=$!
}
# shown NUMBER FILTER: whether that line of what was shown is so, the first being 1.
shown() { sed -n "$1p" "$world/shown" | jq -es "length == 1 and (.[0] | $2)" >/dev/null; }

# stand_in: a daemon that says only alerts: `fires`, `clears`; $world/standing is its answer to
# /v1/alerts.
stand_in() {
  cat >"$world/daemon.py" <<'PY'
import os, socket, sys, threading
world, path, name = sys.argv[1:]
hello = 'Berth-Hello: api=1.0; version=0; world=%s; simulated=1; pid=1\r\n' % name
if os.path.exists(path):
    os.unlink(path)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()

def serve(peer):
    data = b''
    while b'\r\n\r\n' not in data:
        data += peer.recv(65536)
    if b'/v1/events' not in data.split(b'\r\n')[0]:
        body = open(world + '/standing').read()
        peer.sendall(('HTTP/1.1 200 OK\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n'
                      '\r\n%s' % (hello, len(body.encode()), body)).encode())
        return
    peer.sendall(('HTTP/1.1 200 OK\r\n%sContent-Type: text/event-stream\r\n'
                  'Transfer-Encoding: chunked\r\n\r\n' % hello).encode())
    for line in sys.stdin:
        text = ('event: alert\ndata: %s\n\n' % line.strip()).encode()
        peer.sendall(b'%x\r\n%s\r\n' % (len(text), text))

while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
PY
  [[ -e $world/standing ]] || echo '{"schema":"berth/alerts/v1","items":[]}' >"$world/standing"
  rm -f "$world/news"
  mkfifo "$world/news"
  exec {news}<>"$world/news"
  export BERTH_SOCKET=$world/d.sock
  python3 "$world/daemon.py" "$world" "$BERTH_SOCKET" "$BERTH_SIM_NAME" <"$world/news" 3>&- &
  daemon=$!
  eventually test -S "$BERTH_SOCKET"
}
# alert STATE [CHANGE]: says one about lease 12.
alert() {
  jq -nc --arg state "$1" '{schema: "berth/alert/v1", rule: "full", state: $state,
    subject: {kind: "lease", id: 12, name: "train"}, text: "uses 7.9 <of> 8 GiB & grows",
    value: 0.98, unit: "share", severity: "critical", time: "2026-02-07T13:15:00.123Z",
    since: "2026-02-07T13:14:50.120Z",
    actions: [{verb: "pause", lease: 12, label: "Pause train"},
              {verb: "show", lease: 12, label: "Show"}]}' | jq -c "${2:-.}" >&"$news"
}

@test "an alert is shown, with its urgency, its text and what can be done" {
  session
  server body-markup actions
  stand_in
  notifier
  alert firing
  eventually shown 1 '.call == "Notify" and .app == "Berth" and .replaces == 0 and .urgency == 2
    and .summary == "train: full" and .body == "uses 7.9 &lt;of&gt; 8 GiB &amp; grows"
    and .buttons == {"pause 12": "Pause train", "show 12": "Show"}'
  alert firing '.rule = "idle" | .severity = "info"'
  eventually shown 2 '.replaces == 0 and .urgency == 0'
}

@test "a server without markup and buttons gets neither" {
  session
  server body
  stand_in
  notifier
  alert firing
  eventually shown 1 '.body == "uses 7.9 <of> 8 GiB & grows" and .buttons == {}'
}

@test "one that is repeated replaces itself, and goes when it is over" {
  session
  server actions
  stand_in
  notifier
  alert firing
  alert firing '.text = "worse"'
  alert firing '.subject.id = 13'
  alert cleared
  eventually shown 4 '.call == "Close" and .id == 1'
  shown 2 '.id == 1 and .replaces == 1 and .body == "worse"'
  shown 3 '.id == 2 and .replaces == 0'
}

@test "one that was put away comes back when it is repeated" {
  session
  server actions
  stand_in
  notifier
  alert firing
  eventually shown 1 '.id == 1'
  act Dismiss uint32:1
  alert firing
  eventually shown 2 '.id == 2 and .replaces == 0'
}

@test "a notification server that starts again is shown what fires" {
  session
  server actions
  stand_in
  notifier
  alert firing '.subject.id = 11'
  alert firing
  alert cleared '.subject.id = 11'
  eventually shown 3 '.call == "Close"'
  kill "$server"
  eventually eval '! owned'
  alert firing '.subject.id = 13'
  eventually grep -q "grows" "$world/said"
  server actions body-markup
  eventually shown 5 '.id == 2 and .replaces == 0'
  shown 4 '.id == 1 and .replaces == 0 and (.body | contains("&lt;"))'
  alert firing '.text = "worse"'
  eventually shown 6 '.id == 1 and .replaces == 1'
}

@test "a daemon that starts again is followed, and says what fires now" {
  session
  server actions
  stand_in
  notifier
  alert firing
  alert firing '.subject.id = 13'
  alert firing '.rule = "failed" | .text = "has ended: failed"'
  eventually shown 3 '.id == 3'
  kill "$daemon"
  jq -nc '{schema: "berth/alerts/v1", time: "2026-02-07T13:15:00.123Z", items: [
    {name: "failed", when: "lease.ended result=failed", state: "ok", severity: "warn", standing: []},
    {name: "full", when: "lease.mem_used > 90%", state: "firing", severity: "warn", standing: [
      {subject: {kind: "lease", id: 13, name: "train"}, state: "firing", text: "still full",
       since: "2026-02-07T13:14:50.120Z"},
      {subject: {kind: "lease", id: 15, name: "other"}, state: "pending", text: "soon full",
       since: "2026-02-07T13:14:50.120Z"},
      {subject: {kind: "lease", id: 14, name: "third"}, state: "firing", text: "full too",
       since: "2026-02-07T13:14:50.120Z"}]}]}' >"$world/standing"
  stand_in
  patience=40 eventually shown 5 '.call == "Notify" and .summary == "third: full" and
    .urgency == 1' || {
    cat "$world/said" "$world/shown" >&2
    return 1
  }
  shown 4 '.call == "Close" and .id == 1'
  alert firing '.subject.id = 13'
  eventually shown 6 '.id == 2 and .replaces == 2'
}

@test "the daemon's own alerts are shown, a button acts on the lease, and what came of it is told" {
  session
  server actions
  berth daemon start
  berth alert add 'lease.mem_used > 50%' -n full --repeat 0
  notifier
  berth run -n train -m 10G -- vram_user --bytes 8GiB --hold 60s --verify >held 2>&1 3>&- &
  eventually shown 1 '.summary == "train: full" and (.buttons | has("pause 1"))'
  act Press uint32:1 'string:pause 1'
  eventually shown 2 '.summary == "berth pause 1" and (.body | contains("is paused"))'
  [[ $(berth show --json train | jq -r .state) == suspended ]]
  act Press uint32:1 'string:checkpoint 1'
  eventually shown 3 '.summary == "berth checkpoint 1: failed" and .body != ""'
  act Press uint32:1 'string:show 1'
  eventually shown 4 '.summary == "berth show 1" and (.body | contains("suspended"))'
  kill -9 "$(berth daemon status --json | jq .pid)"
  berth cancel train
  eventually grep -q '"call":"Close"' "$world/shown"
}

# named: whether one of them has its name on the session's bus.
named() {
  dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.NameHasOwner string:io.github.berth.Notify | grep -q true
}
user_of_memory() {
  berth run -q -n "$1" -m 2G -- vram_user --bytes 1200MiB --hold 60s >/dev/null 3>&- &
}

@test "berth run starts it for the rules of the desktop, once, and it ends with the daemon" {
  session
  server actions
  berth daemon start
  berth alert add 'lease.mem_used > 10%' -n plain --repeat 0
  berth alert add 'lease.mem_used > 50%' -n full --desktop --repeat 0
  run berth alert list
  contains "events desktop"
  user_of_memory one
  eventually shown 1 '.summary == "one: full"'
  user_of_memory two
  eventually shown 2 '.summary == "two: full" and .id == 2'
  # One that a rule is added for while it runs.
  berth alert add 'lease.mem_used > 40%' -n later --desktop --repeat 0
  eventually eval '(($(grep -c ": later" "$world/shown") == 2))'
  [[ $(grep -c '"Notify"' "$world/shown") == 4 ]]
  named
  berth daemon stop
  eventually fails named
}

@test "one that berth run has started follows the next daemon, and gives way to one started by hand" {
  session
  server actions
  berth daemon start
  berth alert add 'lease.mem_used > 50%' -n full --desktop --repeat 0
  user_of_memory one
  eventually shown 1 '.summary == "one: full"'
  kill -9 "$(berth daemon status --json | jq .pid)"
  berth status >/dev/null # Starts the next one.
  user_of_memory two
  eventually grep -q "two: full" "$world/shown"
  notifier
  berth alert add 'lease.mem_used > 10%' -n plain --repeat 0
  eventually eval '(($(grep -c ": plain" "$world/shown") == 2))' # Each once: the first is gone.
}

@test "nobody but the server presses buttons, and only those of ours" {
  session
  server actions
  stand_in
  notifier
  alert firing
  eventually shown 1 '.id == 1'
  dbus-send --session --type=signal /org/freedesktop/Notifications \
    org.freedesktop.Notifications.ActionInvoked uint32:1 'string:show 12'
  act Press uint32:7 'string:show 12'
  act Press uint32:1 'string:release 12'
  act Press uint32:1 'string:show 12 --json'
  act Press uint32:1 'string:default'
  alert firing
  eventually shown 2 '.replaces == 1' # Nothing else was shown.
}

@test "69 without a session bus, and without anything that shows notifications" {
  unset DBUS_SESSION_BUS_ADDRESS
  XDG_RUNTIME_DIR=$world/nowhere run --separate-stderr berth-notify
  status_is 69
  [[ $stderr == "berth-notify: there is no session bus"*"systemctl --user start berth-notify" ]]
  session
  run --separate-stderr berth-notify
  status_is 69
  [[ $(wc -l <<<"$stderr") == 1 ]]
  contains "this session shows no notifications"
  contains "install one such as dunst"
}

@test "it ends when it is told to, and with its session" {
  session
  server actions
  stand_in
  notifier
  alert firing
  eventually shown 1 '.id == 1'
  kill "$notifier"
  wait "$notifier" # 0
  notifier
  alert firing # Whichever connection gets it.
  alert firing
  eventually shown 2 '.id == 2'
  kill -9 "$bus"
  status=0 output=''
  wait "$notifier" || status=$?
  status_is 69
  grep -q "the session has ended" "$world/said"
}

@test "no daemon is waited for, and none is started" {
  session
  server actions
  export BERTH_SOCKET=$world/d.sock
  notifier
  patience=40 eventually grep -q "no daemon runs here.*waiting for it" "$world/said"
  stand_in
  alert firing
  patience=40 eventually shown 1 '.id == 1'
  [[ ! -e $world/run/berthd.sock ]]
}

@test "wrong use is 64" {
  run berth-notify --now
  status_is 64
}
