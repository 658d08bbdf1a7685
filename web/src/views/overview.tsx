// SPDX-License-Identifier: Apache-2.0
// The first page: the answer, what is wrong, devices, leases, queue, what comes, what happened.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { timeOf } from '../format.ts';
import { requestsOf, totalsOf, type Filter, type Sort } from '../overview.ts';
import type { Range } from '../series.ts';
import * as texts from '../texts.ts';
import { DeviceCard } from './device.tsx';
import { Icon } from './icons.tsx';
import { Ended, Leases } from './leases.tsx';
import type { PastOf } from './past.ts';
import { Queue } from './queue.tsx';
import { Events, Sets } from './side.tsx';
import { Timeline } from './timeline.tsx';
import { Trainings } from './training.tsx';
import { Alerts, Hero } from './top.tsx';
import type { Ui } from './ui.ts';

/** With more than these, cards are small and the chart of the chosen one stands alone. */
const kCardsWithChart = 4;

type Props = {
  ui: Ui & { past: PastOf | null };
  range: Range;
  chosen: number | null;
  stopped: boolean;
  onRange(range: Range): void;
  onStop(): void;
};

export function OverviewPage({ ui, range, chosen, stopped, onRange, onStop }: Props) {
  const [filter, setFilter] = useState<Filter>('all');
  const [sort, setSort] = useState<Sort>({ key: 'id', descending: false });
  const { model } = ui;
  const requests = requestsOf(model);
  const first = requests[0] && model.reasons.get(requests[0].id);
  return (
    <>
      <Hero
        ui={ui}
        range={range}
        firstStart={timeOf(first?.expected_start)}
        stopped={stopped}
        onRange={onRange}
        onStop={onStop}
      />
      <Alerts ui={ui} />
      {model.viewer && !model.viewer.may_act && <p class="note whole">{texts.readOnly}</p>}
      <Devices ui={ui} range={range} />
      <OnceShown>
        {model.leases.size === 0 ? (
          <Empty ui={ui} />
        ) : (
          <>
            <Leases
              ui={ui}
              filter={filter}
              sort={sort}
              chosen={chosen}
              onFilter={setFilter}
              onSort={setSort}
            />
            <Queue ui={ui} waiting={requests} />
          </>
        )}
        <Timeline ui={ui} />
        <div class="side">
          <Trainings ui={ui} />
          <Sets ui={ui} />
          <Events ui={ui} />
        </div>
      </OnceShown>
    </>
  );
}

/** Draws these once what stands above them is on the screen, which answers most questions. */
function OnceShown({ children }: { children: ComponentChildren }) {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    // The second frame begins when the first has been painted.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => setShown(true));
    });
    return () => cancelAnimationFrame(frame);
  }, []);
  return isShown ? <>{children}</> : null;
}

function Devices({ ui, range }: { ui: Ui & { past: PastOf | null }; range: Range }) {
  const [chosen, setChosen] = useState(0);
  const { devices } = ui.model;
  const isFew = devices.length <= kCardsWithChart;
  return (
    <>
      {devices.map((device, i) => (
        <DeviceCard
          key={device.uuid}
          ui={ui}
          device={device}
          range={range}
          withChart={isFew || i === chosen}
        />
      ))}
      {!isFew && (
        <div class="segments whole" role="group" aria-label={texts.device.memory}>
          {devices.map((device, i) => (
            <button key={device.uuid} aria-pressed={i === chosen} onClick={() => setChosen(i)}>
              {texts.deviceName(device.index)}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

function Empty({ ui }: { ui: Ui }) {
  return (
    <section class="card whole empty">
      <h2>{texts.empty.title}</h2>
      <p class="second">{texts.emptyText(totalsOf(ui.model))}</p>
      <ul>
        {texts.empty.commands.map(([command, what]) => (
          <li key={command}>
            <span class="command-box">
              <code>{command}</code>
              <button
                class="icon-button"
                aria-label={`${texts.page.copy}: ${command}`}
                title={texts.page.copy}
                onClick={() => {
                  void navigator.clipboard.writeText(command).then(() => ui.say(texts.page.copied));
                }}
              >
                <Icon name="copy" />
              </button>
            </span>
            <span class="second">{what}</span>
          </li>
        ))}
      </ul>
      <div class="before">
        <Ended ui={ui} search="" />
      </div>
    </section>
  );
}
