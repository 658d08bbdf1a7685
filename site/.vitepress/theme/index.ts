// SPDX-License-Identifier: Apache-2.0
// The generator's theme, with the fonts of the reader's system and the accent of the dashboard.
export { default } from 'vitepress/theme-without-fonts';
import './style.css';
