#!/usr/bin/env bash
# onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6, Python 3.11, on the CPU.
# Guess: Sigmoid and Tanh in float32 are right to the last two units.
# Seen: Sigmoid has a small absolute error (1e-6), but not a small relative one: at -16
#   it is off by more than a tenth, at -18 and below it is 0 (the true value is 1.5e-8,
#   and float32 goes on to 1e-38). Tanh is up to 4.5 units off. A small probability, or
#   its logarithm, should not be read from such an output.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper


def run(operator, numbers):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])
    model = helper.make_model(
        helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "one", [x], [y]),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": numbers})[0].astype(np.float64)


numbers = np.array([-8, -12, -16, -18, -30], np.float32)
true = 1 / (1 + np.exp(-numbers.astype(np.float64)))
seen = run("Sigmoid", numbers)
for row in zip(numbers, seen, true, strict=True):
    print("x %g  seen %.3g  true %.3g" % row)
assert np.abs(seen - true).max() < 1e-6
assert abs(seen[2] / true[2] - 1) > 0.1
assert seen[3] == seen[4] == 0
line = np.linspace(-12, 12, 100_001).astype(np.float32)
exact = np.tanh(line.astype(np.float64))
unit = np.spacing(np.abs(exact).astype(np.float32))
units = (np.abs(run("Tanh", line) - exact) / unit).max()
print("Tanh: at most %.1f units off" % units)
assert 2 < units < 10
PYTHON
