#!/usr/bin/env bash
# torch 2.13.0 (CPU), accelerate 1.15.0, Python 3.11.
# Guess: a DataLoader that accelerate has prepared for one process reads what the bare
#   one reads: one batch when one is asked for, and a run with the same seed gives the
#   same numbers.
# Seen: it reads one batch ahead, to know which is the last: when the loop has its first
#   batch, the second has been read too. A data set that draws its crops with torch's
#   generator and a model with dropout then draw in a different order, so the numbers
#   differ from the second draw on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 accelerate==1.15.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self):
        self.read = []

    def __len__(self):
        return 4

    def __getitem__(self, index):
        self.read.append(index)
        return torch.rand(1)


def first_batch(prepare):
    crops = Crops()
    next(iter(prepare(DataLoader(crops, batch_size=1))))
    return crops.read


def numbers(prepare):
    loader = prepare(DataLoader(Crops(), batch_size=1))
    torch.manual_seed(0)
    return [(batch.item(), torch.rand(1).item()) for batch in loader]


def bare(loader):
    return loader


prepare = Accelerator(cpu=True).prepare
print("read for one batch:", first_batch(bare), first_batch(prepare))
assert first_batch(bare) == [0] and first_batch(prepare) == [0, 1]
ours, theirs = numbers(bare), numbers(prepare)
assert ours[0][0] == theirs[0][0]
assert ours[0][1] == theirs[1][0] and ours[1][0] == theirs[0][1]
PYTHON
