"""The line of a mistake that shows in another line, or in no tensor at all."""

import pytest
from helpers.tables import rows_of
from test_check_locate import checked

from mygpt.check.locate import blame, find
from tools.mends.programs import task_of, text_of

# Two lines stand before each program. `#*` marks the lines that may be named.
PROGRAMS = {
    "block": """\
def norm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    std = ((centred**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    return centred / std * weight + bias

def attend(x, w, H):
    B, T, C = x.shape
    q, k, v = (
        (x @ w["W_" + s] + w["b_" + s]).view(B, T, H, -1).transpose(1, 2) for s in "QKV"
    )
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return y.transpose(1, 2).reshape(B, T, C) @ w["W_O"] + w["b_O"]

def block(x, weights, num_heads):
    w = weights
    x = x + attend(norm(x, w["ln1_weight"], w["ln1_bias"]), w, num_heads)
    h = norm(x, w["ln2_weight"], w["ln2_bias"]) @ w["W1"] + w["b1"]
    return x + torch.nn.functional.gelu(h) @ w["W2"] + w["b2"]
""",
    "heads": """\
def heads(x, weights, num_heads):
    B, T, C = x.shape
    shape = (B, T, num_heads, -1)
    q = (x @ weights["W_Q"] + weights["b_Q"]).reshape(shape).transpose(1, 2)
    k = (x @ weights["W_K"] + weights["b_K"]).reshape(shape).transpose(1, 2)
    v = (x @ weights["W_V"] + weights["b_V"]).reshape(shape).transpose(1, 2)
    factor = q.shape[-1] ** -0.5
    allowed = torch.ones(T, T).tril()
    hidden = allowed == 0
    scores = (q @ k.mT * factor).masked_fill(hidden, -math.inf)
    mixed = (scores.softmax(-1) @ v).transpose(1, 2)
    return mixed.reshape(B, T, C) @ weights["W_O"] + weights["b_O"]
""",
    "layer_norm": """\
def layer_norm(x, weight, bias, eps):
    axis = -1
    centred = x - x.mean(axis, keepdim=True)
    std = (centred.square().mean(axis, keepdim=True) + eps).sqrt()
    scaled = centred / std
    weighted = scaled * weight
    return weighted + bias
""",
    "embedding": """\
def embedding(ids, token_table, position_table):
    x = token_table[ids]
    place = position_table[: ids.shape[1]]
    return x + place
""",
    "bpe_train": """\
def joined(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out

def bpe_train(words, num_merges):
    texts = [list(word.encode()) for word in words]
    merges = []
    for n in range(num_merges):
        counts = {}
        for ids in texts:
            for pair in zip(ids, ids[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        best, most = None, 1
        for pair, count in counts.items():
            if count > most or best and count == most and pair < best:
                best, most = pair, count
        if best is None:
            break
        merges.append(best)
        texts = [joined(ids, best, 256 + n) for ids in texts]
    return merges
""",
}
SOURCES = ("right/mlp_erf", "right/adamw_step_named", "right/bpe_encode_index")
PROGRAMS |= {task_of(source): text_of(source) for source in SOURCES}
# What is written instead of what, and the line of the file that is to be named.
WRONG = rows_of("""
a helper is given another tensor | block | norm(x, w["ln2
    | norm(attend(x, w, num_heads), w["ln2 | 19
a helper gets the sum of the next step | block
    | h = norm(x, w["ln2_weight"], w["ln2_bias"]) | h = x | 19
a shape with a name | heads | (B, T, num_heads, -1) | (B, T, -1, num_heads) | 5
a number with a name | heads | q.shape[-1] ** | x.shape[-1] ** | 9
a mask with a name | heads | (T, T).tril() | (T, T).triu() | 10
an axis with a name | layer_norm | axis = -1 | axis = 1 | 4
a step after a whole one | layer_norm | scaled * weight | scaled + bias | 8
a step that is left out | mlp | a @ W2 | h @ W2 | 11
another name for an argument | embedding | return x + place
    | place += x[0]; return x + place | 5
a condition on axes | adamw_step | len(parameter.shape) > 1 | len(parameter) > 0 | 7
a condition that is never met | adamw_step | > 1 | > 9 | 7
words once | bpe_train | for word in words] | for word in set(words)] | 15
counts of all rounds | bpe_train | for n in range(num_merges):\\n        counts = {}
    | counts = {}\\n    for n in range(num_merges): | 17
pairs left out | bpe_train | zip(ids, ids[1:]) | zip(ids, ids[2:]) | 20
another choice | bpe_train | and pair < best | and pair > best | 24
an end too early | bpe_train | best is None: | most < 3: | 26
a step too short | bpe_train | i += 2 | i += 1 | 8
a new id | bpe_train | 256 + n) | 257 + n) | 29
letters for bytes | bpe_encode | text.encode("utf-8") | map(ord, text) | 4
a number that does not grow | bpe_encode | new += 1 | new += 2 | 17
another condition | bpe_encode | ids[i] == first | ids[i] != first | 10
a loop that ends early | bpe_encode | while i < len(ids): | while i < len(ids) - 1: | 9
""")


@pytest.fixture(autouse=True)
def all_the_time_it_takes(monkeypatch):
    """Look at every probe, however busy the machine is."""
    monkeypatch.setattr(find, "SECONDS", 60.0)


@pytest.mark.parametrize(("name", "task", "old", "new", "line"), WRONG)
def test_the_line_is_where_the_mistake_was_made(
    name, task, old, new, line, monkeypatch
):
    if task == "heads":  # whose replays a slow machine does not end in time
        monkeypatch.setattr(blame, "SECONDS", 1.5)
    old, new = (text.replace("\\n", "\n") for text in (old, new))
    assert PROGRAMS[task].count(old) == 1
    result = checked(task, PROGRAMS[task].replace(old, new))
    assert not result
    assert result.line == int(line), (name, result)


@pytest.mark.parametrize("task", PROGRAMS)
def test_these_programs_are_right(task):
    assert checked(task, PROGRAMS[task])
