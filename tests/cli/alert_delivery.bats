# SPDX-License-Identifier: Apache-2.0
# Alerts that go out: webhooks and commands, tried until they are delivered, whatever happens to the
# daemon meanwhile.
load lib

# free_port: one of this machine where nobody listens.
free_port() { python3 -c 'import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])'; }

# listen STATUS: a listener on 127.0.0.1:$port that answers so; what it is sent is in `served`, a
# line of JSON each.
listen() {
  cat >"$world/listen.py" <<'PY'
import hashlib, hmac, http.server, json, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        text = b'.'.join([self.headers['Berth-Delivery'].encode(),
                          self.headers['Berth-Timestamp'].encode(), body])
        wanted = 'sha256=' + hmac.new(b'hush', text, hashlib.sha256).hexdigest()
        print(json.dumps({'delivery': self.headers['Berth-Delivery'],
                          'event': self.headers['Berth-Event'],
                          'signed': self.headers.get('Berth-Signature') == wanted,
                          'alert': json.loads(body)}), flush=True)
        self.send_response(int(sys.argv[2]))
        self.send_header('Content-Length', '0')
        self.end_headers()
    def log_message(self, *_):
        pass
print('listening', file=sys.stderr, flush=True)
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Hook).serve_forever()
PY
  python3 "$world/listen.py" "$port" "$1" >served 2>listener 3>&- &
  listener=$!
}
served_are() { [[ $(wc -l <served) == "$1" ]]; }
rule() { berth alert list --json | jq -r ".items[] | select(.name == \"$1\") | .$2"; }
rule_is() { [[ $(rule "$1" "$2") == "$3" ]]; }
# kept_are COUNT: so many messages are on the disk.
kept_are() {
  [[ $(sqlite3 -readonly "$(berth daemon status --json | jq -r .state_dir)/history.db" \
    'SELECT count(*) FROM deliveries') == "$1" ]]
}
kill_daemon() {
  local pid=$(berth daemon status --json | jq .pid)
  kill -KILL "$pid" && timeout 5 tail -s 0.05 --pid="$pid" -f /dev/null
}

@test "a webhook that is down at first is told all, in order, signed, and once, though the daemon is killed" {
  port=$(free_port)
  (umask 077 && echo hush >"$world/secret")
  berth alert add lease.ended -n ended --webhook "http://127.0.0.1:$port/hook" --allow-private \
    --secret-file "$world/secret"
  for name in first second third; do berth run -q -m 1G -n "$name" -- true; done
  eventually rule_is ended undelivered 3
  eventually rule_is ended last_delivery.outcome retry
  run berth alert list
  contains "ended: 3 messages not delivered yet; webhook: not delivered"
  eventually kept_are 3
  kill_daemon
  eventually rule_is ended undelivered 3 # The next one has them.
  listen 200
  patience=30 eventually served_are 3
  [[ $(jq -r .alert.subject.name served | tr '\n' ' ') == "first second third " ]]
  [[ $(jq -r .signed served | sort -u) == true ]]
  [[ $(jq -r .event served | sort -u) == alert ]]
  [[ $(jq -r .delivery served | sort -u | wc -l) == 3 ]]
  eventually rule_is ended undelivered 0
  rule_is ended last_delivery.status 200
  eventually kept_are 0
  kill_daemon
  rule_is ended undelivered 0
  served_are 3
}

@test "a message that is refused is not sent again, and the log says so" {
  port=$(free_port)
  listen 400
  eventually grep -q listening listener
  berth alert add lease.ended -n ended --webhook "http://127.0.0.1:$port/hook" --allow-private
  berth run -q -m 1G -- true
  eventually rule_is ended last_delivery.outcome refused
  rule_is ended last_delivery.status 400
  rule_is ended undelivered 0
  served_are 1
  berth daemon logs -n 50 | grep 'alert ended: its webhook was not reached (.*400.*): that message is not sent any more'
}

@test "a webhook on this machine needs the word of the user who set it" {
  port=$(free_port)
  listen 200
  eventually grep -q listening listener
  berth alert add lease.ended -n ended --webhook "http://127.0.0.1:$port/hook"
  berth run -q -m 1G -- true
  eventually rule_is ended last_delivery.outcome refused
  served_are 0
}

@test "a command is given the message, and is started again until it succeeds" {
  berth alert add lease.granted -n granted \
    --command "echo try >>$world/tries; [ -e $world/go ] && cat >>$world/got"
  berth run -q -m 1G -n train -- true
  eventually rule_is granted last_delivery.outcome retry
  rule_is granted last_delivery.status 1
  touch "$world/go"
  patience=30 eventually test -s "$world/got"
  [[ $(jq -r .text "$world/got") == "lease 1 (train) was granted 1.0 GiB after "* ]]
  eventually rule_is granted undelivered 0
  (($(wc -l <"$world/tries") >= 2))
}

@test "a test goes through each channel at once, and says what came of each" {
  port=$(free_port)
  berth alert add lease.ended -n ended --webhook "http://127.0.0.1:$port/hook" --allow-private \
    --command "cat >$world/got"
  run berth alert test ended
  status_is 1
  contains "events: nobody listens"
  contains "webhook: not delivered"
  contains "command: delivered, 0"
  [[ $(jq -r .text "$world/got") == "this is a test of the rule ended" ]]
  rule_is ended undelivered 0 # It is not tried again.
  listen 200
  eventually grep -q listening listener
  run berth alert test ended --json
  status_is 0
  [[ $(jq -r '.items[] | select(.channel == "webhook") | .outcome, .status' <<<"$output" | tr '\n' ' ') == "delivered 200 " ]]
  [[ $(jq -r .event served) == alert.test ]]
  run berth alert test other
  status_is 66
}

@test "what a rule that is taken away wanted sent is not sent any more" {
  port=$(free_port)
  berth alert add lease.ended -n ended --webhook "http://127.0.0.1:$port/hook" --allow-private
  berth run -q -m 1G -- true
  eventually rule_is ended undelivered 1
  berth alert rm ended
  listen 200
  eventually grep -q listening listener
  berth alert add lease.ended -n ended --webhook "http://127.0.0.1:$port/hook" --allow-private
  berth run -q -m 1G -n second -- true
  eventually served_are 1
  [[ $(jq -r .alert.subject.name served) == second ]]
}

@test "what fires is told once and its end too, though the daemon is killed in between" {
  berth alert add 'lease.mem_used > 30%' -n large --command "jq -r .state >>$world/told"
  touch "$world/told"
  told_are() { [[ $(tr '\n' ' ' <"$world/told") == "$1" ]]; }
  berth run -q -m 2G -- vram_user --bytes 1GiB --hold 60s >held 2>&1 3>&- &
  local run=$!
  patience=20 eventually told_are "firing "
  is_kept() { [[ $(sqlite3 -readonly "$(berth daemon status --json | jq -r .state_dir)/history.db" \
    "SELECT count(*) FROM firing WHERE rule = 'large'") == 1 ]]; }
  eventually is_kept
  kill_daemon
  eventually rule_is large state firing
  sleep 2 # Samples with which it would be told again.
  told_are "firing "
  kill_daemon
  kill "$run"
  berth status >/dev/null # There is a daemon again.
  patience=20 eventually told_are "firing cleared "
}

@test "messages are kept where no history is" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  echo 'history.record = false' >"$XDG_CONFIG_HOME/berth/config.toml"
  port=$(free_port)
  berth alert add lease.ended -n ended --webhook "http://127.0.0.1:$port/hook" --allow-private
  berth run -q -m 1G -n train -- true
  eventually rule_is ended undelivered 1
  eventually kept_are 1
  kill_daemon
  eventually rule_is ended undelivered 1
  run berth history
  contains "no history is kept"
}
