"""What rounding the weights to 8 bits costs: the loss of a trained model on a text.

    python -m bench.int8_loss DIR CORPUS [--characters 50000]

DIR is a folder that `mygpt train` wrote; the last characters of CORPUS are the text.
Two paths are compared with the plain model: whole windows at once, as a prompt is read,
and one position at a time, as a text is written. Bar: 0.02 nats.
"""

import argparse

import torch

from bench.machine import print_machine
from mygpt import load_checkpoint, load_corpus
from mygpt.data import windows
from mygpt.gpt import LanguageModel, mean_loss
from mygpt.training import evaluate

BAR = 0.02


def one_at_a_time(model: LanguageModel, ids: list[int]) -> float:
    """The mean loss when each position is read alone, from a cache."""
    total = count = 0
    for inputs, targets in windows(ids, model.config.max_seq_len, batch_size=1):
        cache = model.new_cache()
        steps = [model(one, cache=cache)[0] for one in inputs.split(1, dim=1)]
        total += mean_loss(torch.cat(steps, dim=1), targets).item() * targets.numel()
        count += targets.numel()
    return total / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("corpus")
    parser.add_argument("--characters", type=int, default=50_000)
    options = parser.parse_args()
    print_machine()
    model, tokenizer, _ = load_checkpoint(options.folder)
    assert tokenizer is not None
    ids = tokenizer.encode(load_corpus(options.corpus)[-options.characters :])
    model.eval()
    print(f"{len(ids):,} tokens; loss in nats")
    with torch.inference_mode():
        length = model.config.max_seq_len
        plain = evaluate(model, ids, length)
        print(f"{'plain':8}{plain:.5f}")
        for form in ("packed", "int8"):
            converted = model.for_inference(form)
            whole = evaluate(converted, ids, length)
            alone = one_at_a_time(converted, ids)
            print(
                f"{form:8}windows {whole:.5f} ({whole - plain:+.5f})  "
                f"one by one {alone:.5f} ({alone - plain:+.5f})"
            )
    print(f"int8: {'met' if alone - plain <= BAR else 'MISSED'} (bar {BAR})")


if __name__ == "__main__":
    main()
