#!/usr/bin/env bash
# flax 0.12.8, equinox 0.13.8, jax 0.10.2, numpy 2.4.6, Python 3.11, on the CPU.
# Guess: a token id beyond an embedding table of 10 rows raises an error outside jit, as
#   in torch, or reads the last row in both libraries, as JAX is said to clamp.
# Seen: flax gives NaN, equinox the last row, both in silence; the id -50 reads the
#   first row in equinox and is NaN in flax. In equinox, a GPT whose table is too small
#   goes on with the wrong word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet flax==0.12.8 equinox==0.13.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import equinox
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

by_flax = nnx.Embed(10, 4, rngs=nnx.Rngs(0))
by_equinox = equinox.nn.Embedding(10, 4, key=jax.random.key(0))
for number, row in ((50, 9), (-50, 0)):
    number = jnp.array(number)
    print(number, "flax", by_flax(number)[:2], "equinox row", row)
    assert np.isnan(by_flax(number)).all()
    assert np.array_equal(by_equinox(number), by_equinox.weight[row])
PYTHON
