# SPDX-License-Identifier: Apache-2.0
# The daemon behind the walls of its own unit, as far as they can be put up without systemd: calls of
# the system, families of sockets, namespaces, capabilities, user and devices. Where systemd only
# says no, a process that runs into a wall is killed here, and the test fails. What the unit says of files is
# in unit_files.bats.
load lib
ASAN_OPTIONS+=:detect_leaks=0 # It looks for them by ptrace(), which the unit forbids.

before_daemon() {
  walls "$units/berthd.service.in" "$world/violations" true ||
    { (($? == 77)) && skip "what puts up the walls of a unit is not here"; }
  : >"$world/violations"
  chmod 0666 "$world/violations"
  only_devices
  own_configuration
  under=("${python[@]}" "$world/build/under_unit.py" "$units/berthd.service.in" "$world/violations")
}
python=("$(PATH=/usr/local/bin:/usr/bin:/bin type -P python3)" -B)

# As DevicePolicy=closed and DeviceAllow= leave them, on a machine without a GPU.
only_devices() {
  local name
  mkdir "$world/dev"
  inside mount -t tmpfs none "$world/dev"
  for name in null zero full random urandom tty; do
    inside touch "$world/dev/$name"
    inside mount --bind "/dev/$name" "$world/dev/$name"
  done
  inside ln -s /proc/self/fd "$world/dev/fd"
  inside mkdir "$world/dev/shm"
  inside mount --rbind "$world/dev" /dev
}

teardown() {
  [[ -n $BATS_TEST_COMPLETED || ! -s ${world-}/violations ]] || no_violations || true
  machine_down
}

# Rules that tell of each lease's end, in an /etc of this machine.
own_configuration() {
  mkdir -p "$world/over" "$world/open"
  chmod 0777 "$world/open"
  inside mount -t tmpfs none "$world/over"
  inside mkdir -p "$world/over/upper/berth/conf.d" "$world/over/work"
  inside chmod -R a+rX "$world/over"
  port=$(python3 -c 'import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])')
  echo "http://127.0.0.1:$port/hook" >"$world/hook.url"
  echo hush >"$world/hook.secret"
  chmod 0600 "$world"/hook.*
  chown "${uid[berth]}" "$world"/hook.*
  inside tee "$world/over/upper/berth/conf.d/alerts.toml" >/dev/null <<TOML
[alert.hook]
when = "lease.ended"
webhook_file = "$world/hook.url"
secret_file = "$world/hook.secret"
allow_private = true
[alert.told]
when = "lease.ended"
command = ["sh", "-c", "id -u >>$world/open/told; touch $world/state/mine"]
TOML
  inside mount -t overlay none \
    -o "lowerdir=/etc,upperdir=$world/over/upper,workdir=$world/over/work" /etc
  inside mount --bind "$world/etc/passwd" /etc/passwd
  inside mount --bind "$world/etc/group" /etc/group
}

# unit_of NAME UID: berth-NAME.socket, and berth-NAME@.service as that user behind its walls.
unit_of() {
  local runtime=$world/own/berth/sim/$BERTH_SIM_NAME
  inside env -u BERTH_SIM "${python[@]}" "$(dirname "$BATS_TEST_FILENAME")/accept.py" \
    "${uid[berth]}" "$runtime/$1.sock" setpriv --reuid "$2" --regid "$2" --clear-groups \
    --bounding-set=-all --inh-caps=-all --no-new-privs "${python[@]}" "$world/build/under_unit.py" \
    "$units/berth-$1@.service.in" "$world/violations" "$world/build/bin/berth-deliver" \
    2>>"$world/log" 3>&- &
  eventually inside test -S "$runtime/$1.sock"
}

# listen: what is sent to the hook is in $world/served, with whether it is signed.
listen() {
  cat >"$world/listen.py" <<'PY'
import hashlib, hmac, http.server, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        text = b'.'.join([self.headers['Berth-Delivery'].encode(),
                          self.headers['Berth-Timestamp'].encode(), body])
        wanted = 'sha256=' + hmac.new(b'hush', text, hashlib.sha256).hexdigest()
        print(self.path, self.headers.get('Berth-Signature') == wanted, flush=True)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Hook).serve_forever()
PY
  "${python[@]}" "$world/listen.py" "$port" >"$world/served" 2>&1 3>&- &
}

no_violations() {
  [[ ! -s $world/violations ]] || { sort "$world/violations" | uniq -c >&2 && return 1; }
}
state_is_of() { [[ $(as "$1" berth show "$2" --json | command jq -r .state) == "$3" ]]; }

@test "the daemon does all of its work behind the walls of its unit" {
  unit_of deliver 61001
  unit_of command 61002
  holds alice train 1GiB -m 4G
  as alice berth run -q -m 1G -n short -- vram_user --bytes 512MiB --quiet
  as alice berth pause --mode freeze train
  as alice berth resume train
  eventually state_is_of alice train held
  as alice berth pause train
  state_is_of alice train suspended
  as alice berth resume train
  eventually state_is_of alice train held
  as bob berth run -q -m 1G -n other -- vram_user --bytes 512MiB --quiet
  as alice berth history >/dev/null
  as alice berth history --events >/dev/null
  as alice berth status >/dev/null
  inside berth daemon reload
  as alice berth cancel --yes train
  eventually state_is_of alice train ended
  inside berth daemon stop
  eventually grep -q 'berthd stops' "$world/log"
  no_violations
}

@test "webhooks and commands go to units of their own, which may less" {
  listen
  unit_of deliver 61001
  unit_of command 61002
  as alice berth run -q -m 1G -- vram_user --bytes 512MiB --quiet
  eventually grep -qx '/hook True' "$world/served"
  eventually grep -qsx 61002 "$world/open/told"
  [[ ! -e $world/state/mine ]]
  tested() { inside berth alert test "$1" >"$world/tested" 2>&1; }
  tested hook || { cat "$world/tested" >&2; return 1; }
  # The command's last line is that it may not write the journal.
  fails tested told
  grep -q 'Permission denied' "$world/tested"
  # What the daemon may not hand over is not sent at all.
  chmod 0644 "$world/hook.secret"
  fails tested hook
  grep -q "refused.*hook.secret is open to group or others" "$world/tested"
  no_violations
}

@test "where such a unit has been stopped, the command to start it is told" {
  local runtime=$world/own/berth/sim/$BERTH_SIM_NAME
  "${python[@]}" -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \
    "$world/own/berth/sim/$BERTH_SIM_NAME/deliver.sock"
  chown "${uid[berth]}" "$runtime/deliver.sock"
  run inside berth alert test hook
  contains "systemctl start berth-deliver.socket"
}

@test "a process that goes beyond these walls is killed, and that is told" {
  run -137 inside "${under[@]}" chown 0 "$world"
  grep -q '^chown: fchownat' "$world/violations"
  : >"$world/violations"
  run inside "${under[@]}" /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_NETLINK, 3)'
  grep -q '^python3: socket' "$world/violations"
}
