#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what is known of memory: of the device, this process and its lease, and where each figure
is from. Usage: measure.py, or `berth run -m 2G -- measure.py`"""
import berth

session = berth.session()
print(f'libberth {berth.version()}, lease {session.lease}, devices {len(session.devices)}')
print(session.measure())
print('1 GiB:', session.has_room('1G'))
