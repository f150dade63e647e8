#!/usr/bin/env bash
# torch 2.13.0, keras 3.15.1 on PyTorch, Python 3.11, on the CPU.
# Guess: Keras's Adam and SGD are PyTorch's when learning rate, betas and epsilon are
#   the same; weight_decay in Adam is the coupled one, and clipnorm=1.0 is
#   clip_grad_norm_(parameters, 1.0).
# Seen: Keras's Adam(weight_decay=) is AdamW; its epsilon is added to the uncorrected
#   average: for a gradient as large as epsilon the first step is 0.031 lr, PyTorch's
#   0.5 lr; clipnorm clips each variable by itself (global_clipnorm clips all); and
#   SGD's momentum holds the old learning rate when the rate falls.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6 keras==3.15.1
KERAS_BACKEND=torch KERAS_HOME="$folder" "$folder/environment/bin/python" - <<'PYTHON'
import keras
import numpy as np
import torch


def by_keras(optimizer, *gradients, start=0.0, rates=()):
    variables = [keras.Variable(np.full(len(g), start, np.float32)) for g in gradients]
    optimizer.build(variables)
    for rate in rates or (None,):
        if rate is not None:
            optimizer.learning_rate = rate
        optimizer.apply([torch.tensor(g) for g in gradients], variables)
    return [v.value.detach() - start for v in variables]


def by_torch(optimizer, gradient, start=0.0, rates=(None,), **options):
    weights = torch.nn.Parameter(torch.full((len(gradient),), start))
    made = optimizer([weights], **options)
    for rate in rates:
        if rate is not None:
            made.param_groups[0]["lr"] = rate
        weights.grad = torch.tensor(gradient)
        made.step()
    return weights.detach() - start


adam = keras.optimizers.Adam
(decayed,) = by_keras(adam(0.01, weight_decay=0.1, epsilon=1e-8), [1.0], start=10.0)
coupled = by_torch(torch.optim.Adam, [1.0], start=10.0, lr=0.01, weight_decay=0.1)
apart = by_torch(torch.optim.AdamW, [1.0], start=10.0, lr=0.01, weight_decay=0.1)
print("decay: Keras Adam", decayed, "Adam", coupled, "AdamW", apart)
assert torch.allclose(decayed, apart, atol=1e-4) and (decayed - coupled).abs() > 0.005

(small,) = by_keras(adam(1.0, epsilon=1e-8), [1e-8])
print("gradient of epsilon's size:", small, by_torch(torch.optim.Adam, [1e-8], lr=1.0, eps=1e-8))
assert abs(small + 0.0307) < 0.001
assert abs(by_torch(torch.optim.Adam, [1e-8], lr=1.0, eps=1e-8) + 0.5) < 0.001

clipped = by_keras(keras.optimizers.SGD(1.0, clipnorm=1.0), [3.0, 4.0], [0.3, 0.4])
print("clipnorm:", clipped)
assert torch.allclose(clipped[0], torch.tensor([-0.6, -0.8]))
assert torch.allclose(clipped[1], torch.tensor([-0.3, -0.4]))

rates = (1.0, 1.0, 0.1, 0.1)
(path,) = by_keras(keras.optimizers.SGD(1.0, momentum=0.9), [1.0], rates=rates)
other = by_torch(torch.optim.SGD, [1.0], rates=rates, lr=1.0, momentum=0.9)
print("falling rate: Keras", path, "PyTorch", other)
assert abs(path + 6.439) < 1e-3 and abs(other + 3.5149) < 1e-3
PYTHON
