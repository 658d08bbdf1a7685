#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that has no `berth run` around it, and asks for its lease itself: 1 GiB, then 2, given
back at the end. It ends with 75 where there is no room."""
import sys

import berth


def main() -> int:
    try:
        lease = berth.acquire('1G', name='own')
    except berth.Conflict as error:
        print(f'own_lease: {error}', file=sys.stderr)
        return 75
    with lease:
        print(f'lease {lease.lease}')
        print(f'budget {lease.measure().lease_budget}')
        lease.resize('2G')
        print(f'budget {lease.measure().lease_budget}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
