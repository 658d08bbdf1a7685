#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of PyTorch on the first GPU, for trainer_test.cc. It says a line "NAME VALUE" for each
thing. Exit: 77 where there is no PyTorch or none that can do it, in words on stderr.

Usage: torch_user.py grow STEP MOST   tensors of STEP bytes, until it is refused or has MOST
       torch_user.py train STEPS      a small model, and what it loses before and after
"""
import sys


def skip(why):
    print(f'torch_user: {why}', file=sys.stderr)
    sys.exit(77)


try:
    import torch
except ModuleNotFoundError as error:
    if error.name != 'torch':
        raise
    skip('python3 finds no PyTorch')


def grow(step, most):
    tensors = []
    try:
        while (len(tensors) + 1) * step <= most:
            tensors.append(torch.empty(step, dtype=torch.uint8, device='cuda'))
    except torch.cuda.OutOfMemoryError as error:
        print('refused', str(error).split('\n', maxsplit=1)[0])
    print('allocated', len(tensors) * step)


def train(steps):
    if torch.__version__ == '0+stand_in':
        skip('a stand-in for PyTorch computes nothing')
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    inputs = torch.randn(512, 64, device='cuda')
    targets = inputs.sum(1, keepdim=True) / 8
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(inputs) - targets).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print('first_loss', losses[0])
    print('last_loss', losses[-1])


def main():
    if torch.version.cuda is None:
        skip('this PyTorch is built without CUDA')
    torch.cuda.init()
    {'grow': grow, 'train': train}[sys.argv[1]](*map(int, sys.argv[2:]))


if __name__ == '__main__':
    main()
