// SPDX-License-Identifier: Apache-2.0
// What a person does with the page, by clicks and keys.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kGiB, lease, part, state, waiting } from '../made.ts';
import { busy, visit, withBrowser } from './world.ts';

withBrowser();

test('the page answers what is free, who holds and who waits', () =>
  visit(busy(), {}, async ({ page }) => {
    assert.equal(await page.locator('h1').textContent(), '19.4 GiB free to grant');
    const summary = page.locator('.hero p');
    await page.locator('.queue .reason').first().waitFor();
    assert.match(
      (await summary.textContent()) ?? '',
      /^6 leases hold 74\.0 of 96\.0 GiB on 2 GPUs\. 1 suspended\. 2 requests wait; the first starts in about 38 min\.$/,
    );
    assert.equal(await page.title(), 'Berth — 19.4 GiB free, 2 wait');
  }));

test('why a request waits is asked at once', () =>
  visit(busy(), {}, ({ page }) =>
    page.locator('.queue .reason').first().waitFor({ timeout: 2000 }),
  ));

test('a lease is granted, and its row appears without a reload', () =>
  visit(state(), {}, async ({ page, daemon }) => {
    assert.equal(await page.locator('.empty h2').textContent(), 'Nobody holds GPU memory');
    daemon.change({ leases: [lease(1, { name: 'first', devices: [part(0, 8, 2)] })] });
    await page.locator('tr[data-lease="1"]').waitFor();
    assert.match((await page.locator('tr[data-lease="1"]').textContent()) ?? '', /ana\/first/);
  }));

test('another is paused because a request waits for it, and is resumed again', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    await page.getByRole('button', { name: 'Pause 19…' }).click();
    const ask = page.locator('.ask');
    assert.match((await ask.textContent()) ?? '', /Its 10\.2 GiB move to host memory\./);
    assert.match((await ask.textContent()) ?? '', /21 ana\/finetune-8b could start then\./);
    assert.match((await ask.textContent()) ?? '', /berth pause 19/);
    assert.equal(daemon.sent.length, 0);
    await ask.getByRole('button', { name: 'Pause 19' }).click();
    const toast = page.locator('.toast');
    await toast.getByText('19 is suspended.').waitFor();
    assert.deepEqual(daemon.sent, [{ method: 'POST', path: '/v1/leases/19/suspend', body: {} }]);
    await toast.getByRole('button', { name: 'Resume 19' }).click();
    await toast.getByText('19 runs again').waitFor();
    assert.equal(daemon.sent[1]?.path, '/v1/leases/19/resume');
  }));

test('what is left alone is not sent', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    await page.getByRole('button', { name: 'Pause 12' }).click();
    await page.locator('.ask').getByRole('button', { name: 'Leave it' }).click();
    assert.equal(await page.locator('.ask').count(), 0);
    assert.deepEqual(daemon.sent, []);
  }));

test('what the daemon refuses is said in its words', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    daemon.answers.set('/v1/leases/12/suspend', {
      error: { code: 'not_moved', message: "the driver said 'out of host memory'. It runs on." },
    });
    await page.getByRole('button', { name: 'Pause 12' }).click();
    await page.locator('.ask').getByRole('button', { name: 'Pause 12' }).click();
    await page.locator('.toast').getByText("the driver said 'out of host memory'").waitFor();
  }));

test('what is not theirs is asked of its owner, in words that can be changed', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    await page.getByRole('button', { name: 'Message ben: pause 15…' }).click();
    const input = page.locator('.ask input');
    assert.match(await input.inputValue(), /could you pause 15\? 21 ana\/finetune-8b waits/);
    await input.fill('please?');
    await page.locator('.ask').getByRole('button', { name: 'Send' }).click();
    await page.locator('.toast').getByText('ben was asked.').waitFor();
    assert.deepEqual(daemon.sent, [
      { method: 'POST', path: '/v1/leases/15/message', body: { text: 'please?' } },
    ]);
  }));

test('a request asks for less and starts', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    await page.getByRole('button', { name: 'Ask for 18.0 GiB…' }).click();
    await page.locator('.ask .main').click();
    await page.locator('.toast').getByText('21 asks for 18.0 GiB now.').waitFor();
    assert.deepEqual(daemon.sent[0]?.body, { vram_bytes: 18 * kGiB });
  }));

test('who may only look has no buttons that act', () => {
  const shown = { ...busy(), viewer: { ...busy().viewer, may_act: false } };
  return visit(shown, {}, async ({ page }) => {
    await page.getByText('You may look.').waitFor();
    await page.locator('tr[data-lease="12"] a').click();
    assert.equal(await page.locator('.drawer .drawer-top .buttons button').count(), 0);
    assert.equal(await page.locator('.row-actions button').count(), 0);
    assert.equal(await page.locator('.queue button').count(), 0);
  });
});

test('the daemon is killed and comes back', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    daemon.down = true;
    daemon.drop();
    const banner = page.getByRole('alert');
    await banner.getByText('No connection to the daemon since').waitFor();
    assert.match((await banner.textContent()) ?? '', /What you see is from 14:02:31\./);
    assert.equal(await page.getByRole('button', { name: 'Pause 12' }).isDisabled(), true);
    assert.equal(await page.title(), 'Berth — not connected');
    await page.getByRole('button', { name: 'Try now' }).click();
    await banner.waitFor();
    daemon.down = false;
    daemon.state = { ...daemon.state, sequence: 50, leases: [], queue: [] };
    await page.locator('.empty').waitFor();
    assert.equal(await banner.count(), 0);
  }));

test('a session that is over is opened again by a code, which is for one use', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    daemon.expired = true;
    daemon.drop();
    await page.getByText('This session is over').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Pause 12' }).isDisabled(), true);
    const code = daemon.code;
    await page.getByRole('textbox', { name: 'Code' }).fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('That code is over').waitFor();
    await page.getByRole('textbox', { name: 'Code' }).fill(` ${code} `);
    await page.keyboard.press('Enter');
    await page.locator('tr[data-lease="12"]').waitFor();
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/');
    daemon.expired = true;
    await page.reload();
    await page.getByRole('textbox', { name: 'Code' }).fill(code);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('That code is over').waitFor();
  }));

test('a browser without a session sees nothing but how to have one', () =>
  visit(busy(), { storageState: { cookies: [], origins: [] } }, async ({ page, daemon }) => {
    await page.getByText('Open this page from a terminal').waitFor();
    for (const path of ['/', '/app.js', '/app.css', '/v1/live', '/v1/history']) {
      const answer = await page.request.get(new URL(path, page.url()).href);
      assert.equal(answer.status(), 401, path);
    }
    assert.equal(daemon.streamsOpened, 0);
  }));

test('a cookie that another server was sent opens no more than the page', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    await page.evaluate(() => localStorage.removeItem('berth-key'));
    const opened = daemon.streamsOpened;
    await page.reload();
    await page.getByText('This session is over').waitFor();
    assert.equal(await page.locator('.leases').count(), 0);
    assert.equal(daemon.streamsOpened, opened);
  }));

test('a change that was missed has the page ask for all again', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    const opened = daemon.streamsOpened;
    daemon.state = { ...daemon.state, sequence: daemon.state.sequence + 5 };
    daemon.change({ gone: [12] });
    await page.locator('tr[data-lease="12"]').waitFor({ state: 'detached' });
    assert.equal(daemon.streamsOpened, opened + 1);
  }));

test('updates stop where the reader wants that, and go on', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    await page.locator('h1').click();
    await page.keyboard.press('Space');
    daemon.change({ gone: [12] });
    await page.getByRole('button', { name: 'Show updates' }).waitFor();
    assert.equal(await page.locator('tr[data-lease="12"]').count(), 1);
    await page.getByRole('button', { name: 'Show updates' }).click();
    await page.locator('tr[data-lease="12"]').waitFor({ state: 'detached' });
  }));

test('tabs share one stream, and the next takes over when one is closed', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    const second = await page.context().newPage();
    await second.goto(page.url());
    await second.locator('tr[data-lease="12"]').waitFor();
    assert.equal(daemon.streamsOpen, 1);
    daemon.change({ gone: [13] });
    await second.locator('tr[data-lease="13"]').waitFor({ state: 'detached' });
    await page.close();
    await second.waitForFunction(() => true);
    for (let i = 0; i < 50 && daemon.streamsOpened < 2; ++i) await second.waitForTimeout(100);
    assert.equal(daemon.streamsOpened, 2);
    daemon.change({ gone: [12] });
    await second.locator('tr[data-lease="12"]').waitFor({ state: 'detached' });
  }));

test('markup in names is text', () => {
  const name = '<img src=x onerror=alert(1)><b>bold</b>';
  const shown = busy();
  shown.leases.push(lease(70, { name, command: name, devices: [part(0, 1, 1)] }));
  shown.leases.push(waiting(71, { name }));
  shown.queue = [...shown.queue, 71];
  return visit(shown, {}, async ({ page }) => {
    page.on('dialog', () => assert.fail('a name was run'));
    await page.locator('tr[data-lease="70"] a').click();
    assert.equal(await page.locator('.drawer h2').textContent(), `70 ana/${name}`);
    assert.equal(await page.locator('img').count(), 0);
  });
});

test('rows keep their places under the pointer', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    const ids = () =>
      page.locator('tr[data-lease]').evaluateAll((rows) => rows.map((row) => row.dataset.lease));
    await page.locator('.leases').getByRole('button', { name: 'Used / peak' }).click();
    const before = await ids();
    await page.locator('tr[data-lease="12"]').hover();
    const [used] = daemon.state.leases.filter((one) => one.id === 13);
    daemon.change({ leases: [{ ...used!, vram_used_bytes: 20 * kGiB }] });
    await page.locator('tr[data-lease="13"]').getByText('20.0').waitFor();
    assert.deepEqual(await ids(), before);
    await page.locator('h1').hover();
    daemon.change({ devices: [daemon.state.devices[0]!] });
    await page.waitForFunction(
      (first) => document.querySelector<HTMLElement>('tr[data-lease]')?.dataset.lease !== first,
      before[0] === '13' ? '12' : '13',
    );
  }));

test('what ended is listed, with how', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    daemon.answers.set('/v1/history/sessions', {
      items: [
        {
          id: 8,
          name: 'old',
          user: 'ana',
          user_id: 1000,
          ended: '2026-03-01T13:40:00.000Z',
          result: 'failed',
          held_ms: 240_000,
          vram_peak_bytes: 5 * kGiB,
          vram_granted_bytes: 6 * kGiB,
        },
      ],
    });
    await page.getByRole('button', { name: 'Ended' }).click();
    const row = page.locator('.leases tbody tr');
    await row.getByText('ana/old').waitFor();
    assert.match((await row.textContent()) ?? '', /failed.*5\.0 \/ 6\.0.*4 min.*13:40/);
  }));

test('leases that end one after another are listed, and asked for seldom', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    let asked = 0;
    const items = Array.from({ length: 1000 }, (_, i) => ({
      id: 1000 + i,
      name: 'old',
      user: 'ana',
      user_id: 1000,
      ended: new Date(Date.UTC(2026, 2, 1) + i * 1000).toISOString(),
      result: 'ok',
      held_ms: 1000,
      vram_peak_bytes: kGiB,
      vram_granted_bytes: kGiB,
    }));
    daemon.answers.set('/v1/history/sessions', async () => {
      ++asked;
      await new Promise((done) => setTimeout(done, 250));
      return { items };
    });
    await page.getByRole('button', { name: 'Ended' }).click();
    for (let i = 0; i < 20; ++i) {
      const running = lease(2000 + i, { devices: [part(0, 1, 1)] });
      daemon.change({ leases: [running] });
      daemon.change({ leases: [{ ...running, state: 'ended' }] });
      await page.waitForTimeout(100);
    }
    const rows = page.locator('.leases tbody tr');
    await rows.first().waitFor();
    assert.equal(await rows.count(), 200);
    assert.match((await rows.first().textContent()) ?? '', /^1999ana\/old/);
    await page.getByText('The last 200 of 1000. Search to find others.').waitFor();
    assert.ok(asked <= 2, `asked ${asked} times`);
  }));

test('the details of a request say why it waits, by a key too', () =>
  visit(busy(), {}, async ({ page }) => {
    await page.locator('.queue .reason').first().waitFor();
    await page.locator('.queue [data-lease="21"] a').focus();
    await page.keyboard.press('w');
    const drawer = page.locator('.drawer');
    await drawer.getByText('GPU 1 can grant 18.0 of the 24.0 GiB.').waitFor();
    await drawer.getByRole('button', { name: 'Pause 19…' }).click();
    assert.equal(await page.locator('.drawer h2').textContent(), '19 ana/eval-llama');
    await page.locator('.ask').getByText('Pause 19?').waitFor();
  }));

test('the keys are listed on a question mark', () =>
  visit(busy(), {}, async ({ page }) => {
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('stop updates').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('dialog').count(), 0);
  }));

test('a key does what a button may do, and no more', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    await page.locator('tr[data-lease="15"] a').focus();
    await page.keyboard.press('p');
    await page.keyboard.press('x');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.locator('tr[data-lease="11"] a').focus();
    await page.keyboard.press('r');
    await page.locator('.toast').getByText('11 runs again').waitFor();
    assert.deepEqual(
      daemon.sent.map((one) => one.path),
      ['/v1/leases/11/resume'],
    );
  }));

test('the past: who held how much, what ended, who did what', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    const session = {
      user: 'ben',
      user_id: 1001,
      name: 'old',
      ended: '2026-03-01T13:40:00.000Z',
      wait_ms: 0,
      held_ms: 60_000,
      gpu_ms: 120_000,
      vram_peak_bytes: kGiB,
      vram_granted_bytes: 2 * kGiB,
      vram_used_mib_seconds: 1,
      vram_unused_mib_seconds: 1,
    };
    daemon.answers.set('/v1/history/sessions', {
      items: [{ ...session, id: 8, result: 'over_budget' }],
    });
    daemon.answers.set('/v1/history/events', { items: busy().events });
    await page.getByRole('link', { name: 'History' }).click();
    const users = page.locator('section', { has: page.locator('#users') });
    assert.match((await users.locator('tbody tr').textContent()) ?? '', /ben1.*2 min.*50 %1/);
    await page.getByText('over budget').waitFor();
    assert.equal(await page.locator('.events.dated li').count(), 3);
    await page.getByRole('searchbox').fill('notebook');
    assert.equal(await page.locator('.events.dated li').count(), 1);
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.locator('.leases').waitFor();
  }));

test('the past is shown while leases end one after another, and another period at once', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    const asked: string[] = [];
    daemon.answers.set('/v1/history/sessions', async (query: URLSearchParams) => {
      asked.push(query.get('since') ?? '');
      await new Promise((done) => setTimeout(done, 250));
      return { items: [] };
    });
    await page.locator('nav a[href="#history"]').click();
    for (let i = 0; i < 20; ++i) {
      const running = lease(2000 + i, { devices: [part(0, 1, 1)] });
      daemon.change({ leases: [running] });
      daemon.change({ leases: [{ ...running, state: 'ended' }] });
      await page.waitForTimeout(100);
    }
    assert.ok(await page.locator('#trail').isVisible());
    assert.ok(asked.length <= 2, `asked ${asked.length} times`);
    const before = asked.length;
    await page.getByRole('button', { name: '30 d' }).click();
    await page.waitForTimeout(500);
    assert.equal(asked.length, before + 1);
    const days = (Date.parse(daemon.state.time) - Date.parse(asked.at(-1) ?? '')) / 86_400_000;
    assert.equal(Math.round(days), 30);
  }));

test('alerts say whether they hold and whom they tell, and are tried', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    daemon.answers.set('/v1/alerts/gpu-high/test', {
      rule: 'gpu-high',
      items: [
        { channel: 'webhook', outcome: 'refused', status: 403, reason: 'status 403', time: '' },
      ],
    });
    await page.getByRole('link', { name: 'Alerts 1' }).click();
    await page.getByText('gpu.mem_used > 62%').waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('Webhook: refused, status 403.').waitFor();
  }));

const kTold = [
  [0, 9.5, 'warmup'],
  [20, 6.25, 'warmup'],
  [40, 4.5, 'full'],
  [60, 3.75, 'full'],
] as const;

/** Lease 12 is a job of who looks, and trains. */
function training() {
  const shown = busy();
  return {
    ...shown,
    leases: shown.leases.map((one) =>
      one.id !== 12
        ? one
        : {
            ...one,
            job: true,
            progress: {
              done: 60,
              total: 100,
              left_ms: 40_000,
              note: null,
              loss: 3.75,
              phase: 'full',
              time: shown.time,
            },
          },
    ),
  };
}

test('a training shows its loss, its phase and how it went', () =>
  visit(training(), {}, async ({ page, daemon }) => {
    daemon.answers.set('/v1/leases/12/progress', {
      items: kTold.map(([second, loss, phase]) => ({
        time: new Date(Date.parse(daemon.state.time) + (second - 60) * 1000).toISOString(),
        done: second,
        loss,
        phase,
      })),
    });
    const row = page.locator('.trainings tbody tr');
    assert.match((await row.textContent()) ?? '', /12 .*full60 of 1003\.75/);
    await row.getByRole('link').click();
    const chart = page.getByRole('img', { name: /^Loss:/ });
    await chart.waitFor();
    assert.equal(
      await chart.getAttribute('aria-label'),
      'Loss: 9.5 at first, 3.75 now, in full; 3.75 at best',
    );
    assert.deepEqual(await chart.locator('rect ~ text').allTextContents(), ['warmup', 'full']);
  }));

test('what a job printed is read where somebody asks, and goes on', () =>
  visit(training(), {}, async ({ page, daemon }) => {
    let asked = 0;
    daemon.answers.set('/v1/leases/12/log', () => ({
      job: '12',
      attempt: 2,
      attempts: 2,
      over: ++asked > 1,
      trouble: null,
      text: asked > 1 ? 'step 1\nstep 2 <b>\n' : '\u001b[1mstep 1\u001b[0m\n',
      whole: true,
    }));
    await page.locator('tr[data-lease="12"] a').first().click();
    assert.equal(asked, 0);
    await page.getByRole('button', { name: 'Show what it printed' }).click();
    const log = page.getByRole('log');
    await log.getByText('step 2 <b>').waitFor();
    assert.equal(await log.textContent(), 'step 1\nstep 2 <b>\n');
    await page.getByText('Attempt 2 of 2. stdout and stderr.').waitFor();
    const before = asked;
    await page.waitForTimeout(2500);
    assert.equal(asked, before, 'it is over');
    await page.keyboard.press('Escape');
    // Of others there is nothing to read.
    await page.locator('tr[data-lease="19"] a').first().click();
    await page.getByRole('dialog').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Show what it printed' }).count(), 0);
  }));

test('output that cannot be read says what shows it', () =>
  visit(training(), {}, async ({ page, daemon }) => {
    daemon.answers.set('/v1/leases/12/log', {
      error: { code: 'not_supported', message: 'the daemon reads no files: run berth logs 12' },
    });
    await page.locator('tr[data-lease="12"] a').first().click();
    await page.getByRole('button', { name: 'Show what it printed' }).click();
    await page.getByText('The daemon reads no files: run berth logs 12.').waitFor();
  }));

test('the doctor looks when asked, and says what mends it', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    const fine = { group: 'driver', check: 'probe', level: 'ok', fact: 'NVML answers' };
    const bad = {
      group: 'daemon',
      check: 'disk_space',
      level: 'fail',
      fact: 'the disk is full',
      consequence: 'no new grants',
      cure: 'berth clean --ok',
    };
    daemon.answers.set('/v1/doctor', {
      time: daemon.state.time,
      items: [{ ...fine, consequence: null, cure: null }, bad],
    });
    await page.getByRole('link', { name: 'Alerts' }).click();
    await page.getByRole('button', { name: 'Look now' }).click();
    await page.getByText(/^1 failure, 0 warnings at /).waitFor();
    const found = await page.locator('.findings li').allTextContents();
    assert.deepEqual(found, [
      'okNVML answers',
      'failthe disk is fullno new grantsberth clean --ok',
    ]);
    daemon.answers.set('/v1/doctor', { error: { code: 'busy', message: 'four run: try again' } });
    await page.getByRole('button', { name: 'Look now' }).click();
    await page.getByText('Four run: try again.').waitFor();
  }));
