// SPDX-License-Identifier: Apache-2.0
// Three clients, two SDKs, both eras: what three_clients.bats tells. Prints what happens; ends with
// 0 if all of it did.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as Modern } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as Legacy } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';

const server = { command: 'berth', args: ['mcp'], env: { ...process.env } };
const trains = new Legacy({ name: 'trains', version: '1' });
await trains.connect(new LegacyStdio(server));
const waits = new Modern({ name: 'waits', version: '1' }, { versionNegotiation: { mode: 'auto' } });
await waits.connect(new ModernStdio(server));
const asks = new Modern({ name: 'asks', version: '1' });
await asks.connect(new ModernStdio(server));
const eras = [waits.getNegotiatedProtocolVersion(), asks.getNegotiatedProtocolVersion()];
assert.deepEqual(eras, ['2026-07-28', '2025-11-25']);

async function call(client, name, given, options) {
  const request = { name, arguments: given };
  const result = client === trains ? await client.callTool(request, undefined, options)
                                   : await client.callTool(request, options);
  assert(!result.isError, `${name}: ${result.content[0]?.text}`);
  return result.structuredContent;
}
function run(line, ...command) {
  const child = spawn('sh', ['-c', `${line.replace('COMMAND', '')} ${command.join(' ')}`]);
  let text = '';
  child.stdout.on('data', (block) => (text += block));
  child.stderr.on('data', (block) => (text += block));
  return {
    text: () => text,
    ended: new Promise((done) => child.on('close', (code) => done(code))),
  };
}
async function until(what, holds) {
  for (let i = 0; i < 600; ++i) {
    if (await holds()) return;
    await sleep(50);
  }
  assert.fail(`not within 30 s: ${what}`);
}

// One trains, by the line that it was given, in a shell.
const held = await call(trains, 'gpu_acquire', { memory: '10G', name: 'training', minutes: 10 });
assert.equal(held.state, 'granted');
const lease = held.lease.lease;
const training = run(held.run_with, 'vram_user', '--bytes', '8GiB', '--hold', '9s', '--verify');
await until('the training holds memory', () => training.text().includes('holding'));
console.log('trains:', held.run_with);

// One asks and waits; it hears how far it is.
let told = 0;
const queued = call(waits, 'gpu_acquire', { memory: '10G', max_wait_s: 45, minutes: 5 },
  { onprogress: () => ++told });
await until('it is told of its wait', () => told > 0);

// One leaves a message, and waits for the answer.
const answer = call(asks, 'gpu_message', { lease, text: '10 GiB for a minute', max_wait_s: 40 });
await until('the holder is asked', async () => {
  const status = await call(trains, 'gpu_status', {});
  return status.leases.find((one) => one.lease === lease).asked.length === 1;
});
const agreed = await call(trains, 'gpu_message', { lease, answer: 'agree', pause_minutes: 5 });
assert.equal(agreed.answer, 'agreed');
assert.equal((await answer).answer, 'agreed');
console.log('agreed:', agreed.lease.state);

// Whose turn it was has the card first.
const granted = await queued;
assert.equal(granted.state, 'granted');
await call(waits, 'gpu_release', { lease: granted.lease.lease });
console.log('waited:', told, 'reports of progress');

// Then who asked.
const after = await call(asks, 'gpu_acquire', { memory: '10G', max_wait_s: 40, minutes: 5 });
assert.equal(after.state, 'granted');
const suspended = await call(trains, 'gpu_job', { job: lease });
assert.equal(suspended.job.state, 'suspended');
const short = run(after.run_with, 'vram_user', '--bytes', '8GiB', '--hold', '100ms');
assert.equal(await short.ended, 0, short.text());
await call(asks, 'gpu_release', { lease: after.lease.lease });

// And the training goes on with all that it had.
await call(trains, 'gpu_control', { lease, action: 'resume' });
assert.equal(await training.ended, 0, training.text());
await call(trains, 'gpu_release', { lease });
for (const client of [trains, waits, asks]) await client.close();
console.log('all three had the card');
