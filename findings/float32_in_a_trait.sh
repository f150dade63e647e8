#!/usr/bin/env bash
# traitlets 5.16.1, numpy 2.4.6, Python 3.11.
# Guess: a Float trait of a widget takes a NumPy number, float32 as well as float64;
#   under hold_trait_notifications a change from 0 to 1 and back sends nothing.
# Seen: np.float64 is a subclass of float and is taken, float32 (what a model gives)
#   raises TraitError, and so does np.bool_ for a Bool; an Int takes np.int64. The
#   change and its return send one message with old 0 and new 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet traitlets==5.16.1 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import numpy as np
import traitlets


class Model(traitlets.HasTraits):
    loss = traitlets.Float(0.0)
    step = traitlets.Int(0)
    done = traitlets.Bool(False)


model = Model()
model.loss = np.float64(1.5)
model.step = np.int64(3)
for name, value in (("loss", np.float32(2.5)), ("done", np.bool_(True))):
    try:
        setattr(model, name, value)
    except traitlets.TraitError as error:
        print("TraitError:", error)
    else:
        raise SystemExit(f"{name} is taken now")
sent = []
model.step = 0
model.observe(lambda change: sent.append((change.old, change.new)), "step")
with model.hold_trait_notifications():
    model.step = 1
    model.step = 0
print(sent)
assert sent == [(0, 0)]
PYTHON
