import torch

LAYERS = {
    "ln_1": "ln1",
    "ln_2": "ln2",
    "attn.c_proj": "heads.W_O",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
}


def translate(name, array):
    words = name.split(".")
    if words[0] == "transformer":
        words = words[1:]
    if words[0] == "wte":
        return [("embedding.tokens", array)]
    if words[0] == "wpe":
        return [("embedding.positions", array)]
    if words[0] == "ln_f":
        return [(".".join(words), array)]
    _, layer, *part, kind = words
    if part == ["attn"]:
        return []
    if kind == "weight" and array.ndim == 2:
        array = torch.transpose(array, 0, 1).contiguous()
    if part[-1] == "c_attn":
        size = len(array) // 3
        return [
            (f"blocks.{layer}.heads.W_V.{kind}", array[2 * size :]),
            (f"blocks.{layer}.heads.W_Q.{kind}", array[:size]),
            (f"blocks.{layer}.heads.W_K.{kind}", array[size : 2 * size]),
        ]
    return [(f"blocks.{layer}.{LAYERS['.'.join(part)]}.{kind}", array)]
