// SPDX-License-Identifier: Apache-2.0
// Colours that stand apart, also for who does not see all of them, and text that can be read.
// Contrast: WCAG 2.2. Distance: CIEDE2000 (Sharma, Wu, Dalal 2005). Colour blindness: Machado,
// Oliveira, Fernandes 2009, at full strength.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

type Rgb = [number, number, number];
type Matrix = [Rgb, Rgb, Rgb];

const css = readFileSync(new URL('../src/style/tokens.css', import.meta.url), 'utf8');
const themes = {
  light: tokensOf(css.slice(0, css.indexOf('[data-theme'))),
  dark: tokensOf(css.slice(css.indexOf('[data-theme'))),
};

const kSights: Record<string, Matrix> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

for (const [theme, tokens] of Object.entries(themes)) {
  const at = (name: string) => tokens.get(name) as Rgb;
  test(`text can be read: ${theme}`, () => {
    for (const ground of ['bg', 'surface', 'sunk']) {
      for (const text of ['t1', 't2', 't3', 'accent', 'critical', 'ok']) {
        const ratio = contrast(at(text), at(ground));
        assert.ok(ratio >= 4.5, `${text} on ${ground}: ${ratio.toFixed(2)}`);
      }
    }
    assert.ok(contrast(at('warn'), at('warn-bg')) >= 4.5);
    assert.ok(contrast(at('critical'), at('critical-bg')) >= 4.5);
    assert.ok(contrast(at('on-accent'), at('accent')) >= 4.5);
  });

  test(`hues of leases stand out from the card: ${theme}`, () => {
    for (let hue = 0; hue < 5; ++hue) {
      const ratio = contrast(at(`hue-${hue}`), at('surface'));
      assert.ok(ratio >= 3, `hue-${hue}: ${ratio.toFixed(2)}`);
    }
  });

  for (const [sight, matrix] of Object.entries(kSights)) {
    test(`hues of leases are told apart: ${theme}, ${sight}`, () => {
      for (let a = 0; a < 5; ++a) {
        for (let b = a + 1; b < 5; ++b) {
          const far = distance(seen(at(`hue-${a}`), matrix), seen(at(`hue-${b}`), matrix));
          assert.ok(
            far >= (sight === 'normal' ? 15 : 7),
            `hue-${a} and hue-${b}: ${far.toFixed(1)}`,
          );
        }
      }
    });
  }
}

test('the distance is that of the published examples', () => {
  const far = labDistance([50, 2.6772, -79.7751], [50, 0, -82.7485]);
  assert.ok(Math.abs(far - 2.0425) < 1e-4, String(far));
  assert.ok(Math.abs(labDistance([50, 2.5, 0], [73, 25, -18]) - 27.1492) < 1e-4);
});

function tokensOf(text: string): Map<string, Rgb> {
  return new Map(
    [...text.matchAll(/--([\w-]+): #([0-9a-f]{6})/g)].map(([, name, hex]) => [
      name as string,
      [0, 2, 4].map((i) => parseInt((hex as string).slice(i, i + 2), 16) / 255) as Rgb,
    ]),
  );
}

function linear([r, g, b]: Rgb): Rgb {
  const one = (c: number) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return [one(r), one(g), one(b)];
}

function contrast(a: Rgb, b: Rgb): number {
  const luminance = (rgb: Rgb) => {
    const [r, g, blue] = linear(rgb);
    return 0.2126 * r + 0.7152 * g + 0.0722 * blue;
  };
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

function seen(rgb: Rgb, matrix: Matrix): Rgb {
  const from = linear(rgb);
  return matrix.map((row) =>
    Math.min(1, Math.max(0, row[0] * from[0] + row[1] * from[1] + row[2] * from[2])),
  ) as Rgb;
}

// Of linear sRGB, white D65.
function distance(a: Rgb, b: Rgb): number {
  return labDistance(labOf(a), labOf(b));
}

function labOf([r, g, b]: Rgb): Rgb {
  const x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047;
  const y = 0.2126729 * r + 0.7151522 * g + 0.072175 * b;
  const z = (0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883;
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 / 116) * t + 16 / 116);
  return [116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))];
}

function labDistance([l1, a1, b1]: Rgb, [l2, a2, b2]: Rgb): number {
  const radians = Math.PI / 180;
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [p1, p2] = [a1 * (1 + g), a2 * (1 + g)];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const angle = (b: number, a: number) => {
    const h = Math.atan2(b, a) / radians;
    return a === 0 && b === 0 ? 0 : (h + 360) % 360;
  };
  const [h1, h2] = [angle(b1, p1), angle(b2, p2)];
  const grey = c1 * c2 === 0;
  let turn = grey ? 0 : h2 - h1;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  const dL = l2 - l1;
  const dC = c2 - c1;
  const dH = 2 * Math.sqrt(c1 * c2) * Math.sin((turn / 2) * radians);
  const l = (l1 + l2) / 2;
  const c = (c1 + c2) / 2;
  let h = h1 + h2;
  if (!grey) h = (Math.abs(h1 - h2) <= 180 ? h : h < 360 ? h + 360 : h - 360) / 2;
  const t =
    1 -
    0.17 * Math.cos((h - 30) * radians) +
    0.24 * Math.cos(2 * h * radians) +
    0.32 * Math.cos((3 * h + 6) * radians) -
    0.2 * Math.cos((4 * h - 63) * radians);
  const sL = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const sC = 1 + 0.045 * c;
  const sH = 1 + 0.015 * c * t;
  const rC = 2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7));
  const rT = -Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * radians) * rC;
  return Math.sqrt((dL / sL) ** 2 + (dC / sC) ** 2 + (dH / sH) ** 2 + rT * (dC / sC) * (dH / sH));
}
