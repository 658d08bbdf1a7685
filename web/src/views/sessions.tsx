// SPDX-License-Identifier: Apache-2.0
// Leases that have ended, in a table.
import type { PastSession } from '../wire.ts';
import { duration, gib, moment, timeOf } from '../format.ts';
import { sessionOf } from '../overview.ts';
import * as texts from '../texts.ts';

const kRowsShown = 200;

type Props = { sessions: readonly PastSession[]; search: string; now: number };

/** The last first. `search`: a part of the number, the user or the name; empty: all. */
export function SessionsTable({ sessions, search, now }: Props) {
  const text = search.trim().toLowerCase();
  const found = sessions
    .filter((one) => one.ended !== null)
    .filter((one) => `${one.id} ${sessionOf(one)}`.toLowerCase().includes(text))
    .sort((a, b) => (b.ended ?? '').localeCompare(a.ended ?? ''));
  if (found.length === 0) return <p class="nothing">{texts.ended.none}</p>;
  const shown = found.slice(0, kRowsShown);
  return (
    <div class="scroll">
      {shown.length < found.length && (
        <p class="nothing">{texts.lastOf(shown.length, found.length)}</p>
      )}
      <table>
        <thead>
          <tr>
            <th scope="col">{texts.leases.id}</th>
            <th scope="col">{texts.leases.session}</th>
            <th scope="col">{texts.ended.result}</th>
            <th scope="col" class="number">
              {texts.ended.peakOfGranted}
            </th>
            <th scope="col" class="number">
              {texts.ended.waited}
            </th>
            <th scope="col" class="number">
              {texts.ended.ran}
            </th>
            <th scope="col" class="number">
              {texts.ended.at}
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((one) => (
            <tr key={one.id}>
              <td class="second">{one.id}</td>
              <td>
                <b>{sessionOf(one)}</b>
              </td>
              <td class={one.result === 'ok' ? '' : 'critical'}>{texts.resultWord(one.result)}</td>
              <td class="number">
                {gib(one.vram_peak_bytes)} / {gib(one.vram_granted_bytes)}
              </td>
              <td class="number second">{duration(one.wait_ms)}</td>
              <td class="number second">{duration(one.held_ms)}</td>
              <td class="number second">{moment(timeOf(one.ended) ?? 0, now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
