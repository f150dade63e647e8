#!/usr/bin/env bash
# keras 3.15.1 on the torch 2.13.0 backend, Python 3.11, on the CPU.
# Guess: Keras agrees with itself: keras.ops.gelu is keras.activations.gelu, and the
#   layer and the function of layer normalization add the same epsilon.
# Seen: keras.ops.gelu is the tanh form by default; keras.activations.gelu, which a
#   layer with activation="gelu" takes, is the erf form, as in PyTorch.
#   LayerNormalization adds 1e-3, and keras.ops.layer_normalization adds 1e-7. Where the
#   variance is 1e-4, the same number becomes 0.30 in the layer, 0.95 in PyTorch and
#   1.00 in the function. Code that loads PyTorch weights has to set approximate and
#   epsilon itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet keras==3.15.1 torch==2.13.0
KERAS_HOME="$folder" KERAS_BACKEND=torch "$folder/environment/bin/python" - <<'PYTHON'
import keras
import numpy as np
import torch

x = np.linspace(-3, 3, 13, dtype="float32")
forms = {
    form: torch.nn.functional.gelu(torch.tensor(x), approximate=form).numpy()
    for form in ("none", "tanh")
}
assert abs(forms["none"] - forms["tanh"]).max() > 1e-4


def form_of(gelu):
    y = keras.ops.convert_to_numpy(gelu(keras.ops.convert_to_tensor(x)))
    (form,) = [name for name, values in forms.items() if abs(y - values).max() < 1e-5]
    return form


seen = {
    "keras.ops.gelu": form_of(keras.ops.gelu),
    "keras.activations.gelu": form_of(keras.activations.gelu),
    'Activation("gelu")': form_of(keras.layers.Activation("gelu")),
}
for name, form in seen.items():
    print(name, "is PyTorch's gelu with approximate =", repr(form))
assert list(seen.values()) == ["tanh", "none", "none"]

small = np.array([[0.01, -0.01]], dtype="float32")  # its variance is 1e-4
epsilons = {
    "LayerNormalization": (keras.layers.LayerNormalization(), 1e-3),
    "keras.ops.layer_normalization": (keras.ops.layer_normalization, 1e-7),
    "torch.nn.LayerNorm": (torch.nn.LayerNorm(2), 1e-5),
}
for name, (norm, epsilon) in epsilons.items():
    where = torch.tensor if name.startswith("torch") else keras.ops.convert_to_tensor
    y = keras.ops.convert_to_numpy(norm(where(small)))[0, 0]
    print(f"{name}: 0.01 becomes {y:.4f}, epsilon {epsilon:.0e}")
    assert abs(y - 0.01 / (1e-4 + epsilon) ** 0.5) < 1e-4
assert keras.layers.LayerNormalization().epsilon == 1e-3
PYTHON
