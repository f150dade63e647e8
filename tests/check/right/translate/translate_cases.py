def linear(name, array, ours):
    """Pairs of a linear layer: one for each of our names."""
    _, kind = name.rsplit(".", 1)
    parts = array.split(array.shape[-1] // len(ours), dim=-1)
    if kind == "weight":
        parts = [part.permute(1, 0) for part in parts]
    return [(f"{our}.{kind}", part) for our, part in zip(ours, parts, strict=True)]


def translate(name, array):
    name = name.replace("transformer.", "")
    if name in ("wte.weight", "wpe.weight"):
        ours = {"wte": "tokens", "wpe": "positions"}[name[:3]]
        return [("embedding." + ours, array)]
    if name.startswith("ln_f"):
        return [(name, array)]
    _, number, rest = name.split(".", 2)
    block = f"blocks.{number}."
    if rest in ("attn.bias", "attn.masked_bias"):
        return []
    if rest.startswith("attn.c_attn"):
        return linear(rest, array, [block + f"heads.W_{letter}" for letter in "QKV"])
    if rest.startswith("attn.c_proj"):
        return linear(rest, array, [block + "heads.W_O"])
    if rest.startswith("mlp.c_fc"):
        return linear(rest, array, [block + "mlp.fc1"])
    if rest.startswith("mlp.c_proj"):
        return linear(rest, array, [block + "mlp.fc2"])
    return [(block + rest.replace("_", ""), array)]
