// SPDX-License-Identifier: Apache-2.0
// The daemon of build/release on a simulated GPU, in a world of its own.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

const kBin = new URL('../../../build/release/bin', import.meta.url).pathname;

export class RealDaemon {
  // Short: the path of a socket has at most 108 characters.
  private readonly world = mkdtempSync('/tmp/bp.');
  private readonly running: ChildProcess[] = [];
  private readonly jobs: string[] = [];
  readonly environment: NodeJS.ProcessEnv;

  /** `sim`: the machine, as BERTH_SIM has it. */
  constructor(sim = '1x16GiB:RTX-5080') {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(BERTH|XDG|CUDA)_/.test(name),
    );
    mkdirSync(`${this.world}/run`, { mode: 0o700 });
    mkdirSync(`${this.world}/home`, { mode: 0o700 });
    this.environment = {
      ...Object.fromEntries(inherited),
      HOME: `${this.world}/home`,
      XDG_STATE_HOME: `${this.world}/state`,
      XDG_CONFIG_HOME: `${this.world}/config`,
      XDG_CACHE_HOME: `${this.world}/cache`,
      BERTH_RUNTIME_DIR: `${this.world}/run`,
      BERTH_SIM: sim,
      BERTH_SIM_NAME: this.world.slice(-6),
      PATH: `${kBin}:${process.env.PATH}`,
    };
  }

  /** Its configuration, from its next start on. */
  configure(text: string): void {
    mkdirSync(`${this.world}/config/berth`, { recursive: true });
    writeFileSync(`${this.world}/config/berth/config.toml`, text);
  }

  /** What `berth` says, on both outputs. */
  async berth(...words: string[]): Promise<string> {
    const said = await promisify(execFile)('berth', words, { env: this.environment });
    return said.stdout + said.stderr;
  }

  /** A lease that uses half of its memory until it is ended. `before`: words in front of its program. */
  hold(name: string, gib: number, ...before: string[]): void {
    const program = ['vram_user', '--bytes', `${gib * 512}MiB`, '--active', '--hold', '300s'];
    this.start(['run', '-q', '-m', `${gib}G`, '-n', name, '--', ...before, ...program]);
  }

  /** `berth` with these words, until the daemon is stopped. */
  start(words: string[]): void {
    this.running.push(spawn('berth', words, { env: this.environment, stdio: 'ignore' }));
  }

  /** A job of that name, until the daemon is stopped. */
  async submit(name: string, ...words: string[]): Promise<void> {
    await this.berth('submit', '-n', name, ...words);
    this.jobs.push(name);
  }

  /** Where the page is, and a code that opens it once. */
  async dashboard(...options: string[]): Promise<{ url: string; code: string }> {
    const said = await this.berth('dashboard', '--no-open', ...options);
    const url = /^http:\S+$/m.exec(said)?.[0];
    const code = /code (\S+),/.exec(said)?.[1];
    if (!url || !code) throw new Error(`no session: ${said}`);
    return { url, code };
  }

  async status(): Promise<{ leases: { id: number; name: string; state: string }[] }> {
    return JSON.parse(await this.berth('status', '--json'));
  }

  async waiting(): Promise<{ name: string; state: string }[]> {
    return JSON.parse(await this.berth('queue', '--json')).items;
  }

  async pid(): Promise<number> {
    return JSON.parse(await this.berth('daemon', 'status', '--json')).pid;
  }

  async stop(): Promise<void> {
    for (const child of this.running) child.kill('SIGTERM');
    // A job would go on without its daemon, and so would the keeper of jobs.
    for (const name of this.jobs) await this.berth('cancel', name).catch(() => {});
    await this.berth('daemon', 'stop').catch(() => {});
    if (this.jobs.length > 0) this.endKeeper();
    rmSync(this.world, { recursive: true, force: true });
  }

  private endKeeper(): void {
    const state = `${this.world}/state`;
    for (const file of readdirSync(state, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('keeper.lock')) continue;
      process.kill(Number(readFileSync(`${state}/${file}`, 'utf8')));
    }
  }
}

/** Asks until it is so. */
export async function eventually(isSo: () => Promise<boolean>, what: string): Promise<void> {
  for (let i = 0; i < 100; ++i) {
    if (await isSo().catch(() => false)) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`not within 10 s: ${what}`);
}
