def translate(name, array):
    name = name.removeprefix("transformer.")
    if name.endswith((".attn.bias", ".attn.masked_bias")):
        return []
    if name.endswith(("c_attn.weight", "c_fc.weight", "c_proj.weight")):
        array = array.T
    for old, new in {
        "h.": "blocks.",
        "wte.weight": "embedding.tokens",
        "wpe.weight": "embedding.positions",
        "ln_1": "ln1",
        "ln_2": "ln2",
        "attn.c_proj": "heads.W_O",
        "mlp.c_fc": "mlp.fc1",
        "mlp.c_proj": "mlp.fc2",
    }.items():
        name = name.replace(old, new)
    if "c_attn" not in name:
        return [(name, array)]
    return [
        (name.replace("attn.c_attn", f"heads.W_{letter}"), piece)
        for letter, piece in zip("QKV", array.chunk(3), strict=True)
    ]
