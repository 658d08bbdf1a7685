#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth-deliver`: one webhook to a listener of this machine, or one alert command, and what is said
# of it. The certificate is made here, and SSL_CERT_FILE is how the program comes to trust it.
load lib

# certificate NAME HOST: a self-signed one in $world/NAME.pem, with its key.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj "/CN=$2" -addext "subjectAltName=DNS:$2" \
    -keyout "$world/$1.key" -out "$world/$1.pem" 2>/dev/null
}

# listen HOW [plain]: a listener on 127.0.0.1:$port; what it is sent is in $world/served, a line of
# JSON each. HOW: a status to answer with; `signed`, 200 to what is signed with the secret «hush»
# and 401 to all else; `redirect`, `huge`, `endless` (a head without end), `silent`, `hangs`.
listen() {
  [[ ${2-} == plain || -e $world/right.pem ]] || certificate right localhost
  cat >"$world/listen.py" <<'PY'
import hashlib, hmac, json, socket, ssl, sys
how, plain, world = sys.argv[1], sys.argv[2] == 'plain', sys.argv[3]
server = socket.create_server(('127.0.0.1', 0))
context = None
if not plain:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(world + '/right.pem', world + '/right.key')
print(server.getsockname()[1], flush=True)
kept = []

def read(peer):
    data = b''
    while b'\r\n\r\n' not in data:
        more = peer.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b'\r\n\r\n', 1)
    lines = head.decode().split('\r\n')
    headers = {k.lower(): v for k, v in (line.split(': ', 1) for line in lines[1:])}
    while len(body) < int(headers.get('content-length', 0)):
        body += peer.recv(65536)
    return lines[0], headers, body

def is_signed(headers, body):
    text = b'.'.join([headers['berth-delivery'].encode(), headers['berth-timestamp'].encode(), body])
    wanted = 'sha256=' + hmac.new(b'hush', text, hashlib.sha256).hexdigest()
    return hmac.compare_digest(wanted, headers.get('berth-signature', ''))

def answer(peer, status, more=b'', body=b'ok'):
    peer.sendall(b'HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n%s' % (status, len(body), more, body))

while True:
    peer, _ = server.accept()
    try:
        if context:
            peer = context.wrap_socket(peer, server_side=True)
        request = read(peer)
        if request is None:
            continue
        line, headers, body = request
        print(json.dumps({'line': line, 'headers': headers, 'body': body.decode()}), flush=True)
        if how == 'silent':
            kept.append(peer)
            continue
        elif how == 'hangs':
            peer.sendall(b'HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nok')
            kept.append(peer)
            continue
        elif how == 'endless':
            peer.sendall(b'HTTP/1.1 200 X\r\n')
            while True:
                peer.sendall(b'X-Filler: ' + b'x' * 1000 + b'\r\n')
        elif how == 'huge':
            peer.sendall(b'HTTP/1.1 200 X\r\n\r\n')
            while True:
                peer.sendall(b'x' * 65536)
        elif how == 'redirect':
            answer(peer, 307, b'Location: /elsewhere\r\n')
        elif how == 'signed':
            answer(peer, 200 if is_signed(headers, body) else 401)
        else:
            answer(peer, int(how), b'Retry-After: 7\r\n')
        peer.close()
    except OSError as error:
        print('broken: %s' % error, file=sys.stderr, flush=True)
PY
  rm -f "$world/served"
  python3 "$world/listen.py" "$1" "${2-}" "$world" >"$world/served" 2>"$world/broken" 3>&- &
  eventually test -s "$world/served"
  port=$(head -n 1 "$world/served")
  export SSL_CERT_FILE=$world/right.pem
}
served() { tail -n +2 "$world/served"; }

# webhook URL [NAME=JSON...]: sends {"text":"ä"} there, to a private address if need be.
webhook() {
  local url=$1 changes='.' change
  shift
  for change in "$@"; do
    changes+=" | .${change%%=*} = ${change#*=}"
  done
  jq -nc --arg url "$url" '{kind: "webhook", delivery: "17-3", event: "alert", url: $url,
    body: "{\"text\":\"ä\"}", secret_file: null, allow_private: true}' |
    jq -c "$changes" | berth-deliver
}
# command WORD...: runs that with the body «to be read».
command_() {
  jq -nc '{kind: "command", delivery: "17-3", event: "alert", body: "to be read",
    argv: $ARGS.positional}' --args -- "$@" | berth-deliver
}
# says OUTCOME STATUS TEXT: of the last `run`.
says() {
  status_is 0
  jq -es --arg o "$1" --argjson s "$2" --arg t "$3" 'length == 1 and
    (.[0] | .outcome == $o and .status == $s and (.reason | contains($t)))' <<<"$output" >/dev/null || {
    echo "wanted: $*, found: $output" >&2
    return 1
  }
}

@test "a webhook is posted as it is, with what tells it apart" {
  listen 204
  run webhook "https://localhost:$port/hook?x=1"
  says delivered 204 "localhost answered 204"
  [[ $(served | jq -r .line) == "POST /hook?x=1 HTTP/1.1" ]]
  [[ $(served | jq -r .body) == '{"text":"ä"}' ]]
  served | jq -es '.[0].headers | .["content-type"] == "application/json" and .["berth-event"] == "alert"
    and .["berth-delivery"] == "17-3" and (.["user-agent"] | startswith("berth/"))
    and (has("berth-signature") or has("expect") | not)'
  (($(served | jq -r '.headers["berth-timestamp"]') - $(date +%s) < 60))
}

@test "the other side can check the signature" {
  listen signed
  (umask 077 && echo hush >"$world/secret" && echo tush >"$world/other")
  run webhook "https://localhost:$port/" "secret_file=\"$world/secret\""
  says delivered 200 ""
  run webhook "https://localhost:$port/" "secret_file=\"$world/other\""
  says refused 401 ""
  run webhook "https://localhost:$port/"
  says refused 401 ""
}

@test "the URL may stand in a file that nobody else can read" {
  listen 204
  (umask 077 && echo "https://localhost:$port/T0/whisper" >"$world/url")
  run webhook "" "url_file=\"$world/url\""
  says delivered 204 "localhost answered 204"
  [[ $(served | jq -r .line) == "POST /T0/whisper HTTP/1.1" ]]
  chmod 640 "$world/url"
  run webhook "" "url_file=\"$world/url\""
  says refused null "chmod 600 '$world/url'"
  (umask 077 && : >"$world/empty")
  run webhook "" "url_file=\"$world/empty\""
  says refused null "must hold the URL"
}

@test "a secret that others can read signs nothing, and is not sent" {
  listen signed
  echo hush >"$world/secret"
  chmod 640 "$world/secret"
  run webhook "https://localhost:$port/" "secret_file=\"$world/secret\""
  says refused null "chmod 600"
  : >"$world/empty"
  chmod 600 "$world/empty"
  run webhook "https://localhost:$port/" "secret_file=\"$world/empty\""
  says refused null "is empty"
  run webhook "https://localhost:$port/" 'secret_file="secret"'
  says refused null "whole path"
  run webhook "https://localhost:$port/" 'secret_file="/nowhere/secret"'
  says refused null "/nowhere/secret"
  [[ -z $(served) ]]
}

@test "neither messages nor the command line show a secret" {
  certificate right localhost
  (umask 077 && echo hush >"$world/secret")
  for how in 200 404 503 redirect; do
    listen "$how"
    run webhook "https://localhost:$port/T0/whisper" "secret_file=\"$world/secret\""
    status_is 0
    [[ $output == *localhost* && $output != *whisper* && $output != *hush* ]]
  done
  for url in "https://me:whisper@localhost/" "http://localhost:99999/whisper" "whisper"; do
    run webhook "$url"
    says refused null "the webhook's URL"
    [[ $output != *whisper* ]]
  done
  listen silent
  webhook "https://localhost:$port/whisper" 3>&- >/dev/null &
  eventually grep -q whisper "$world/served"
  for pid in $(world_processes); do
    [[ $(<"/proc/$pid/comm") != berth-deliver ]] || cat "/proc/$pid/cmdline" >>"$world/lines"
  done
  [[ $(tr -d '\0' <"$world/lines") == berth-deliver ]]
}

@test "a certificate that is not trusted, or of another host, gets nothing" {
  listen 200
  certificate other localhost
  SSL_CERT_FILE=$world/other.pem run webhook "https://localhost:$port/"
  says retry null "certificate"
  run webhook "https://127.0.0.1:$port/"
  says retry null "127.0.0.1"
  [[ -z $(served) ]]
}

@test "no redirect is followed" {
  listen redirect
  run webhook "https://localhost:$port/"
  says refused 307 "redirect"
  [[ $(served | wc -l) == 1 ]]
}

@test "what passes is tried again, when the other side says" {
  for code in 408 425 429 500 503; do
    listen "$code"
    run webhook "https://localhost:$port/"
    says retry "$code" ""
    [[ $(jq .retry_after_ms <<<"$output") == 7000 ]]
  done
  listen 410
  run webhook "https://localhost:$port/"
  says refused 410 ""
  [[ $(jq .retry_after_ms <<<"$output") == null ]]
}

@test "of an endless answer no more is read than shows what became of it" {
  listen huge
  run webhook "https://localhost:$port/"
  says delivered 200 ""
  eventually grep -q broken "$world/broken"
  listen endless
  run webhook "https://localhost:$port/"
  says delivered 200 ""
  eventually grep -q broken "$world/broken"
}

@test "addresses that are not public are refused, however they are written" {
  listen 200
  for host in localhost 127.0.0.1 127.1 0x7f000001 2130706433 0.0.0.0 '[::1]' '[::]' \
    '[::ffff:127.0.0.1]' '[::ffff:7f00:1]' '[64:ff9b::127.0.0.1]' 10.1.2.3 169.254.169.254 \
    192.168.0.1 224.0.0.1 '[fe80::1]' '[fc00::1]' '[ff02::1]'; do
    run webhook "https://$host:$port/" allow_private=false
    says refused null "allow_private = true" || {
      echo "$host"
      return 1
    }
  done
  [[ -z $(served) ]]
}

@test "without encryption it goes to private addresses alone" {
  listen 200 plain
  run webhook "http://localhost:$port/"
  says delivered 200 ""
  run webhook "http://localhost:$port/" allow_private=false
  says refused null "https://"
  run webhook "http://192.0.1.1:$port/"
  says refused null "public address"
}

@test "a proxy of the environment is not asked" {
  listen 200
  https_proxy=http://127.0.0.1:9 all_proxy=http://127.0.0.1:9 run webhook "https://localhost:$port/"
  says delivered 200 ""
}

@test "nobody there, or no such host: to be tried again" {
  port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
  run webhook "https://127.0.0.1:$port/"
  says retry null "127.0.0.1"
  run webhook "https://nowhere.invalid/" allow_private=false
  says retry null "nowhere.invalid"
}

@test "a command gets the body, and knows what it is for" {
  run command_ bash -c 'cat >body; echo "$BERTH_EVENT $BERTH_DELIVERY $1" >asked; echo noise' - 'a b'
  says delivered 0 ""
  [[ $(<body) == "to be read" ]]
  [[ $(<asked) == "alert 17-3 a b" ]]
  [[ $(wc -l <<<"$output") == 1 ]]
}

@test "a command that does not read its input is delivered all the same" {
  run command_ true
  says delivered 0 ""
}

@test "a command that fails is tried again, and its last words are told" {
  run command_ bash -c 'yes noise | head -n 100000 >&2; printf "no \x1b[31mroute\n\n" >&2; exit 3'
  says retry 3 "ended with 3: no  [31mroute"
  run command_ bash -c 'kill -9 $$'
  says retry null "killed by signal 9"
}

@test "a command that cannot be started is refused" {
  run command_ no-such-program
  says refused null "cannot start no-such-program"
  : >plain
  run command_ ./plain
  says refused null "./plain"
}

@test "the rights of the system's daemon are not those of what it sends" {
  ((EUID == 0)) || skip "this needs root, to hand rights on"
  chmod 0711 "$world" "$world/home"
  cp "$(type -P berth-deliver)" "$world/"
  local rights=+kill,+sys_ptrace script='tr "\n\t" "  " </proc/self/status | grep -o "CapInh.*CapBnd" >&2; exit 1'
  rights_of() {
    setpriv --reuid 60001 --regid 60001 --clear-groups --inh-caps "$rights" --ambient-caps "$rights" "$@"
  }
  run rights_of sh -c "$script"
  contains "CapEff: 0000000000080020"
  jq -nc --arg script "$script" '{kind: "command", delivery: "1", event: "alert", body: "",
    argv: ["sh", "-c", $script]}' >order
  run rights_of "$world/berth-deliver" <order
  says retry 1 "CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000"
}

@test "nothing takes longer than 10 s, and a command is killed with all that it has started" {
  listen silent
  webhook "https://localhost:$port/" >silent 3>&- &
  eventually grep -q line "$world/served"
  listen hangs
  webhook "https://localhost:$port/" >hangs 3>&- &
  command_ bash -c 'echo stuck >&2; sleep 1000 & echo $! >child; wait' >stuck 3>&- &
  for name in silent hangs stuck; do
    patience=30 eventually test -s "$name"
  done
  output=$(<silent) status=0
  says retry null "no answer within 10 s"
  output=$(<hangs)
  says delivered 200 ""
  output=$(<stuck)
  says retry null "did not end within 10 s"
  gone() { ! kill -0 "$(<child)" 2>/dev/null; }
  eventually gone
}

@test "an order that makes no sense is refused in the same form" {
  run berth-deliver <<<'{"kind":"fax"}'
  says refused null "webhook or command"
  run berth-deliver </dev/null
  says refused null "'kind'"
}

@test "where it is missing, doctor says so" {
  local bin
  bin=$(dirname "$(type -P berth)")
  mkdir "$world/bin"
  cp "$bin"/{berth,berthd,berth-probe,berth-mover} "$world/bin/"
  run "$world/bin/berth" doctor
  contains "missing beside this program: berth-deliver"
}
