#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth mcp --http`: the same tools for clients that speak HTTP, behind the door.
load lib

setup() {
  world_up
  serve
}

serve() {
  rm -f "$world/address"
  berth mcp --http 0 >"$world/address" 2>"$world/said" 3>&- &
  server=$!
  eventually test -s "$world/address"
  url=$(<"$world/address")
  token=$(<"$(sed -n 's/.*token in \(.*\): Authorization.*/\1/p' "$world/said")")
}

teardown() {
  kill "$server" 2>/dev/null && wait "$server"
  world_down
}

# client: the program on stdin, with post() and the address and token.
client() {
  url=$url token=$token python3 -c '
import http.client, json, os, sys, threading, time, urllib.parse
url, token = urllib.parse.urlparse(os.environ["url"]), os.environ["token"]
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
def send(method, body=None, path=None, **headers):
    link = http.client.HTTPConnection("127.0.0.1", url.port, timeout=60)
    given = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
             "Content-Type": "application/json"}
    given.update({key.replace("_", "-"): value for key, value in headers.items()})
    link.request(method, path or url.path, body, {key: value for key, value in given.items() if value})
    return link.getresponse()
def post(method, params={}, **headers):
    named = params.get("name") or params.get("uri") or ""
    given = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method, "Mcp_Name": named}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}
    return send("POST", json.dumps(body), **{**given, **headers})
def call(name, **arguments):
    answer = json.loads(post("tools/call", {"name": name, "arguments": arguments}).read())
    return answer["result"]["structuredContent"]
exec(sys.stdin.read())' "$@"
}

@test "a client of the modern era has the tools, and what it is granted is its own" {
  client <<'PY'
assert len(json.loads(post('tools/list').read())['result']['tools']) == 9
got = call('gpu_acquire', memory='4G', minutes=5, max_wait_s=0)
assert got['state'] == 'granted' and got['lease']['this_session'], got
assert call('gpu_release', lease=got['lease']['lease'])['lease']['state'] in ('releasing', 'ended')
PY
}

@test "a client of the legacy era has a session until it ends it" {
  client <<'PY'
def ask(method, params, **headers):
    return send('POST', json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}), **headers)
opened = ask('initialize', {'protocolVersion': '2025-11-25', 'capabilities': {}, 'clientInfo': {'name': 'c', 'version': '1'}})
session = opened.getheader('Mcp-Session-Id')
assert json.loads(opened.read())['result']['protocolVersion'] == '2025-11-25' and len(session) > 30
assert ask('tools/list', {}, Mcp_Session_Id=session).status == 200
assert ask('tools/list', {}, Mcp_Session_Id='guessed').status == 404
assert ask('tools/list', {}).status == 400
assert send('DELETE', Mcp_Session_Id=session).status == 200
assert ask('tools/list', {}, Mcp_Session_Id=session).status == 404
PY
}

@test "who waits is told how far it is, and who hangs up waits no more" {
  holder=$(berth reserve 1h -q -x)
  client <<'PY'
# Its progress comes every 5 s.
waits = post('tools/call', {'name': 'gpu_acquire', 'arguments': {'memory': '1G', 'max_wait_s': 40},
                            '_meta': {**META, 'progressToken': 3}})
assert waits.getheader('Content-Type') == 'text/event-stream'
assert waits.readline() == b'event: message\n'
assert json.loads(waits.readline().decode()[6:])['method'] == 'notifications/progress'
waits.close()
PY
  eventually state_is 2 ended
  state_is "$holder" held
}

@test "without the token, by a page of another origin, or in another form nobody comes in" {
  client <<'PY'
assert post('tools/list', Authorization=None).status == 401
assert post('tools/list', Authorization='Bearer ' + token[:-1]).status == 401
assert post('tools/list', Authorization='Bearer ' + token[:-1] + 'x').status == 401
assert post('tools/list', Host='evil.example').status == 403
assert post('tools/list', Host='127.0.0.1:1').status == 403
assert post('tools/list', Origin='http://evil.example').status == 403
assert post('tools/list', Origin='null').status == 403
assert post('tools/list', Origin='http://localhost:%d' % url.port).status == 200
assert post('tools/list', Content_Type='text/plain').status == 415
assert send('GET').status == 405
assert send('POST', '{}', path='/other').status == 404
assert send('POST', '[' * 20000).status == 400
assert send('POST', '"' + 'x' * 70000 + '"').status == 413
for pair in b'Origin: http://localhost\r\nOrigin: http://evil', b'Host: a\r\nHost: b':
    import socket
    raw = socket.create_connection(('127.0.0.1', url.port))
    raw.sendall(b'POST /mcp HTTP/1.1\r\n' + pair + b'\r\nContent-Length: 0\r\n\r\n')
    assert raw.recv(100).startswith(b'HTTP/1.1 400'), pair
assert post('tools/list').status == 200
PY
  [[ $(stat -c %a "$(sed -n 's/.*token in \(.*\): Authorization.*/\1/p' "$world/said")") == 600 ]]
}

@test "the token stays, a port that is taken is named, and one that is none too" {
  port=${url##*:}
  port=${port%/mcp}
  run berth mcp --http "$port"
  status_is 69
  contains "another program has port $port"
  run berth mcp --http 70000
  status_is 64
  contains "the last one is 65535"
  before=$token
  kill "$server" && wait "$server"
  serve
  [[ $token == "$before" ]]
}

@test "a token that others can read, or that is none, is refused by name" {
  file=$(sed -n 's/.*token in \(.*\): Authorization.*/\1/p' "$world/said")
  chmod 644 "$file"
  run berth mcp --http 0
  status_is 77
  contains "$file"
  chmod 600 "$file"
  echo short >"$file"
  run berth mcp --http 0
  status_is 64
  contains "holds no secret"
}
