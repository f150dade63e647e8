"""`python -m mygpt`: the running example, or a command such as `train`."""

import os
import sys

from mygpt.support.output import to_any_output


def running_example() -> None:
    """Print the shapes on the way through an embedding and an MLP."""
    from mygpt.embedding import VOCAB, TokenEmbedding, to_ids
    from mygpt.feed_forward import MLP
    from mygpt.support.seed import set_seed

    def count(module: TokenEmbedding | MLP) -> int:
        return sum(p.numel() for p in module.parameters())

    set_seed()
    C = 4
    embedding, mlp = TokenEmbedding(len(VOCAB), C), MLP(C).eval()
    ids = to_ids(VOCAB)[None]  # a batch of one
    x = embedding(ids)
    print(f"Vocabulary: {VOCAB}")
    print(f"Vocabulary size V = {len(VOCAB)}\n")
    print(f"Token ids shape:                {tuple(ids.shape)}")
    print(f"Embedded shape (B, T, C):       {tuple(x.shape)}")
    print(f"MLP output shape:               {tuple(mlp(x).shape)}")
    print(f"x + MLP(x) shape (residual):    {tuple((x + mlp(x)).shape)}\n")
    print(f"hidden_dim = 4*C = {mlp.fc1.out_features}, embed_dim = {C}\n")
    print(f"TokenEmbedding parameters:        {count(embedding)}")
    print(f"MLP parameters:                   {count(mlp)}")
    print(f"Total parameters:                 {count(embedding) + count(mlp)}")


def main() -> int:
    """Run the command line and return the exit status."""
    if len(sys.argv) > 1:
        from mygpt.cli import commands

        return commands.main(sys.argv[1:])
    return to_any_output(lambda: running_example() or 0)


def run() -> None:
    """Run the command line, and end."""
    status = main()
    if sys.argv[1:2] == ["check"]:  # PyTorch takes long to take itself apart
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    run()
