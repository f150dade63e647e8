"""One training step of the GPT-2 recipe, beside nanoGPT's at the same mathematics.

    python -m bench.step_time --nanogpt PATH [--threads 2] [--rounds 15]

PATH is a checkout of nanoGPT, of which only model.py is used. Both models have 4
layers, 4 heads, width 128, 64 positions, batch 12, float32, no biases and the erf GELU
(the biases of our norms are held at zero), and start from the same weights. A step is
a batch, forward, backward, clipping, AdamW and zero_grad, as each project does them.
Rounds of both alternate, so that a machine that drifts slows both.
"""

import argparse
import statistics
import sys
import time

import torch

from bench.machine import print_machine
from mygpt.gpt import GPT, GPTConfig
from mygpt.training import Run, TrainingConfig

V, T, C, H, L, B = 65, 64, 128, 4, 4, 12
STEPS = 20  # in a round
BAR = 1.0


def ours(ids: torch.Tensor):
    torch.manual_seed(0)
    model = GPT(GPTConfig(V, T, C, H, L, activation="gelu", bias=False))
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.requires_grad_(False)
    run = Run(model, ids, TrainingConfig(steps=10**6, batch_size=B, progress=False))
    return model, run.take_step


def nanogpt(path: str, ids: torch.Tensor, model: GPT):
    sys.path.insert(0, path)
    import model as theirs  # nanoGPT's

    shape = {"vocab_size": V, "block_size": T, "n_layer": L, "n_head": H, "n_embd": C}
    net = theirs.GPT(theirs.GPTConfig(**shape, dropout=0.0, bias=False))
    copy_weights(model, net)
    optimizer = net.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")

    def step():
        starts = torch.randint(len(ids) - T, (B,))
        x = torch.stack([ids[i : i + T] for i in starts])
        y = torch.stack([ids[i + 1 : i + 1 + T] for i in starts])
        _, loss = net(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return net, step


@torch.no_grad()
def copy_weights(model: GPT, net: torch.nn.Module) -> None:
    """Copy our initial weights into nanoGPT's model."""
    net.transformer.wte.weight.copy_(model.token.embedding.weight)
    net.transformer.wpe.weight.copy_(model.position.weight)
    for a, b in zip(model.blocks, net.transformer.h, strict=True):
        qkv = [a.mha.W_Q.weight, a.mha.W_K.weight, a.mha.W_V.weight]
        b.attn.c_attn.weight.copy_(torch.cat(qkv))
        b.attn.c_proj.weight.copy_(a.mha.W_O.weight)
        b.mlp.c_fc.weight.copy_(a.mlp.fc1.weight)
        b.mlp.c_proj.weight.copy_(a.mlp.fc2.weight)


def timed(step) -> float:
    """Milliseconds for one step, the mean of a round."""
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    return 1000 * (time.perf_counter() - start) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nanogpt", required=True, metavar="PATH")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print_machine()
    torch.set_num_threads(options.threads)
    ids = torch.randint(V, (100_000,), generator=torch.Generator().manual_seed(0))
    model, our_step = ours(ids)
    net, their_step = nanogpt(options.nanogpt, ids, model)
    x, y = ids[None, :T], ids[None, 1 : T + 1]
    with torch.no_grad():
        a, b = model(x, y)[1].item(), net(x, y)[1].item()
    if abs(a - b) > 1e-5:
        sys.exit(f"the two models differ before training: losses {a:.6f} and {b:.6f}")
    rounds = [(timed(our_step), timed(their_step)) for _ in range(options.rounds + 1)][
        1:
    ]
    here, there = (statistics.median(times) for times in zip(*rounds, strict=True))
    ratio = statistics.median(a / b for a, b in rounds)
    print(f"{'':24}ms per step (median of {options.rounds} rounds)")
    print(f"{'mygpt':24}{here:.2f}")
    print(f"{'nanoGPT':24}{there:.2f}")
    print(f"{'ratio, round by round':24}{ratio:.3f}   (bar: at most {BAR})")


if __name__ == "__main__":
    main()
