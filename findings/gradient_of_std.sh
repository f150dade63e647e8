#!/usr/bin/env bash
# torch 2.13.0, jax 0.10.2, Python 3.11, on the CPU.
# Guess: the standard deviation of a vector of equal numbers has gradient NaN in every
#   form, and F.normalize of the zero vector has gradient 0.
# Seen: x.std() has gradient 0 in PyTorch, x.var().sqrt() NaN, and jnp.std NaN.
#   F.normalize at 0 has gradient 1e12, the inverse of its epsilon.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6 jax==0.10.2
"$folder/environment/bin/python" - <<'PYTHON'
import jax
import jax.numpy as jnp
import torch
from torch.nn import functional as F


def slope(function, x):
    x = x.clone().requires_grad_()
    function(x).sum().backward()
    return x.grad[0].item()


equal, zero = torch.full((4,), 2.0), torch.zeros(4)
std, root = slope(torch.std, equal), slope(lambda x: x.var().sqrt(), equal)
other = float(jax.grad(jnp.std)(jnp.full(4, 2.0))[0])
print("std", std, "var().sqrt()", root, "jnp.std", other)
assert std == 0 and root != root and other != other
unit = slope(lambda x: F.normalize(x, dim=0), zero)
print("normalize", unit)
assert abs(unit / 1e12 - 1) < 1e-5
PYTHON
