// SPDX-License-Identifier: Apache-2.0
// After the code: keeps the key that the page was given, and goes where neither stands.
import { keepKey } from './key.ts';

const key = document.querySelector<HTMLMetaElement>('meta[name="berth-key"]')?.content;
if (key) keepKey(key);
location.replace('/');
