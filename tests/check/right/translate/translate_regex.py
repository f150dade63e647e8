import re

NAMES = [
    (r"^transformer\.", ""),
    (r"^h\.", "blocks."),
    (r"^wte\.weight$", "embedding.tokens"),
    (r"^wpe\.weight$", "embedding.positions"),
    (r"\.ln_(\d)", r".ln\1"),
    (r"\.mlp\.c_fc\.", ".mlp.fc1."),
    (r"\.mlp\.c_proj\.", ".mlp.fc2."),
    (r"\.attn\.c_proj\.", ".heads.W_O."),
]


def translate(name, array):
    if re.search(r"\.attn\.(masked_)?bias$", name):
        return []
    transpose = re.search(r"\.c_\w+\.weight$", name)
    for pattern, new in NAMES:
        name = re.sub(pattern, new, name)
    if ".c_attn." not in name:
        return [(name, array.t() if transpose else array)]
    pairs = []
    for i in range(3):
        width = array.shape[-1] // 3
        third = array[..., i * width : (i + 1) * width]
        ours = name.replace("attn.c_attn", "heads.W_" + "QKV"[i])
        pairs.append((ours, third.t() if transpose else third))
    return pairs
