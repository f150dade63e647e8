#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: a token that occurs 5,000 times in a batch, each time with gradient 1, gets the
#   gradient 5,000, rounded to the type of the table: sums of half-precision numbers are
#   kept in float32.
# Seen: in bfloat16 it gets 256 and in float16 2,048: the rows are added one by one in
#   the table's own type, and 256 + 1 is 256. The same product with one-hot rows gives
#   4,992 (5,000 rounded) and 5,000. Frequent tokens lose nearly all of their gradient;
#   a master copy in float32 avoids it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from torch.nn import functional as F

ids = torch.zeros(5000, dtype=torch.long)
expected = {torch.float32: (5000, 5000), torch.bfloat16: (256, 4992), torch.float16: (2048, 5000)}
for dtype, (by_rows_expected, by_product_expected) in expected.items():
    table = torch.zeros(3, 2, dtype=dtype, requires_grad=True)
    F.embedding(ids, table).sum().backward()
    by_rows = table.grad[0, 0].item()
    table.grad = None
    (F.one_hot(ids, 3).to(dtype) @ table).sum().backward()
    by_product = table.grad[0, 0].item()
    print(dtype, "embedding", by_rows, "one-hot product", by_product)
    assert (by_rows, by_product) == (by_rows_expected, by_product_expected)
PYTHON
