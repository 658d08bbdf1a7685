# SPDX-License-Identifier: Apache-2.0
"""A client of `berth mcp`, of either era of the protocol, for tests."""
import json
import select
import subprocess

META = 'io.modelcontextprotocol/'


class Refused(Exception):
    """An error of the protocol."""


class Client:
    def __init__(self, era='modern', capabilities=None, options=()):
        self.era, self.last, self.heard = era, 0, b''
        self.capabilities = capabilities or {}
        self.process = subprocess.Popen(['berth', 'mcp', *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        if era == 'legacy':
            self.started = self.ask('initialize', {
                'protocolVersion': '2025-06-18', 'capabilities': self.capabilities,
                'clientInfo': {'name': 'test', 'version': '1'}})
            self.say({'jsonrpc': '2.0', 'method': 'notifications/initialized'})

    def say(self, message):
        self.send(json.dumps(message).encode())

    def send(self, line):
        self.process.stdin.write(line + b'\n')
        self.process.stdin.flush()

    def hear(self, seconds=60):
        """The next message."""
        while b'\n' not in self.heard:
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            if not ready:
                raise TimeoutError('nothing was heard')
            block = self.process.stdout.read1(65536)
            if not block:
                raise EOFError('it has ended')
            self.heard += block
        line, _, self.heard = self.heard.partition(b'\n')
        return json.loads(line)

    def begin(self, method, params=None):
        self.last += 1
        params = dict(params or {})
        if self.era == 'modern':
            params['_meta'] = {META + 'protocolVersion': '2026-07-28',
                               META + 'clientCapabilities': self.capabilities,
                               **params.get('_meta', {})}
        self.say({'jsonrpc': '2.0', 'id': self.last, 'method': method, 'params': params})
        return self.last

    def finish(self, number, seconds=60):
        while True:
            message = self.hear(seconds)
            if message.get('id') == number and 'method' not in message:
                break
            self.others = getattr(self, 'others', []) + [message]
        if 'error' in message:
            raise Refused(message['error'])
        return message['result']

    def ask(self, method, params=None):
        return self.finish(self.begin(method, params))

    def call(self, tool, more=None, **arguments):
        """The facts that a tool gives; its text where it says that it failed."""
        result = self.ask('tools/call', {'name': tool, 'arguments': arguments, **(more or {})})
        if result.get('resultType') == 'input_required':
            return result
        text = result['content'][0]['text']
        return text if result.get('isError') else result['structuredContent']

    def close(self):
        self.process.stdin.close()
        return self.process.wait(20)
