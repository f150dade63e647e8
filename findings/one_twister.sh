#!/usr/bin/env bash
# torch 2.13.0, numpy 2.4.6, Python 3.11, on the CPU.
# Guess: torch.manual_seed(0) and np.random.RandomState(0) give unrelated numbers.
# Seen: both are the same Mersenne Twister with the same seeding. torch.rand is the
#   lowest 24 bits of NumPy's 32-bit words, divided by 2**24, number for number;
#   torch.randint(0, n) is the word modulo n. A program in NumPy can draw PyTorch's
#   uniform numbers exactly. np.random.rand differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import numpy as np
import torch

for seed in (0, 1234):
    words = np.random.RandomState(seed).randint(0, 2**32, size=1000, dtype=np.uint32)
    torch.manual_seed(seed)
    uniform = torch.rand(1000)
    torch.manual_seed(seed)
    whole = torch.randint(0, 65, (1000,))
    print(uniform[:3].tolist(), (words[:3] % 2**24 / 2**24).tolist())
    assert np.array_equal(uniform.numpy(), (words % 2**24 / 2**24).astype(np.float32))
    assert np.array_equal(whole.numpy(), words % 65)
    assert not np.allclose(np.random.RandomState(seed).rand(3), uniform[:3].numpy(), atol=1e-3)
PYTHON
