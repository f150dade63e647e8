#!/usr/bin/env bash
# jax 0.10.2, optax 0.2.8, keras 3.15.1 on PyTorch 2.13.0, Python 3.11, on the CPU.
# Guess: decay_steps means the same in optax's warmup_cosine_decay_schedule and in
#   Keras's CosineDecay with a warm-up: the steps of the cosine.
# Seen: in optax it is the whole length, warm-up and all; in Keras the cosine's length
#   after the warm-up. With a warm-up of 10 and decay_steps of 100 the one ends at step
#   100, the other at 110.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6 keras==3.15.1 jax==0.10.2 optax==0.2.8
KERAS_BACKEND=torch KERAS_HOME="$folder" "$folder/environment/bin/python" - <<'PYTHON'
import keras
import optax

by_optax = optax.warmup_cosine_decay_schedule(0.0, 1.0, warmup_steps=10, decay_steps=100)
by_keras = keras.optimizers.schedules.CosineDecay(0.0, 100, warmup_target=1.0, warmup_steps=10)
expected = {0: (0, 0), 10: (1, 1), 55: (0.5, 0.578), 60: (0.413, 0.5), 100: (0, 0.0245), 110: (0, 0)}
for step, rates in expected.items():
    seen = float(by_optax(step)), float(by_keras(step))
    print("step", step, "optax", seen[0], "Keras", seen[1])
    assert all(abs(rate - other) < 1e-3 for rate, other in zip(rates, seen))
PYTHON
