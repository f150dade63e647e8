#!/usr/bin/env bash
# ml_dtypes 0.6.0, onnx 1.23.2, onnxruntime 1.32.0, torch 2.13.0 (CPU), numpy 2.4.6, Python 3.11.
# Guess: 1000 as float8_e4m3fn, whose largest number is 448, is the same in every
#   library: 448, or not a number.
# Seen: torch and ONNX Runtime give 448, ml_dtypes gives NaN. A weight that is far too
#   large is clipped by two of them; in the third it becomes NaN and spoils every
#   product.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet ml_dtypes==0.6.0 onnx==1.23.2 onnxruntime==1.32.0 torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper

by_ml_dtypes = float(np.float32(1000).astype(ml_dtypes.float8_e4m3fn))
by_torch = torch.tensor(1000.0).to(torch.float8_e4m3fn).float().item()
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
nodes = [
    helper.make_node("Cast", ["x"], ["small"], to=TensorProto.FLOAT8E4M3FN),
    helper.make_node("Cast", ["small"], ["y"], to=TensorProto.FLOAT),
]
model = helper.make_model(
    helper.make_graph(nodes, "cast", [x], [y]),
    opset_imports=[helper.make_opsetid("", 20)],
    ir_version=10,
)
session = onnxruntime.InferenceSession(model.SerializeToString())
by_onnx = float(session.run(None, {"x": np.array([1000], np.float32)})[0][0])
print("torch", by_torch, "ONNX Runtime", by_onnx, "ml_dtypes", by_ml_dtypes)
assert by_torch == by_onnx == 448
assert np.isnan(by_ml_dtypes)
PYTHON
