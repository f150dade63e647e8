"""What readers type, and what the search looks for in its place: the book's own words.

A line is what is typed, with commas between, then a colon and the book's words. A space
stands for a hyphen and for nothing too, and a plural is typed with an s.
"""

TABLE = """
4x, 4×, 4 times, four times, factor of 4, factor of four, mlp ratio: expansion 4C
skip connection, shortcut connection, residual link: residual connection
layer norm, layer normalization: layer norm
batch norm, batch normalization, batch normalisation: batch norm
weight tying, weight sharing, tied weight, tied embedding, shared embedding: tied head
unembedding, lm head, output head: tied head
positional encoding, positional embedding, position embedding: position vector
context window, context size, context length, max length, block size: context
embedding dimension, embedding size: model dimension
feed forward, feed forward network, feed forward layer: feed-forward network
multi head attention, mha: many heads
self attention: attention
attention mask, causal attention, look ahead mask, triangular mask: causal mask
flash attention, sdpa: scaled_dot_product_attention
grouped query attention, multi query attention, gqa, mqa: grouped queries
moe: mixture of experts
fp16, float16: half precision
bf16, mixed precision, amp: bfloat16
fp32, full precision: float32
numerical stability, numerically stable, overflow, infinite loss: nan
knowledge editing, model editing: rewriting a fact
nll, negative log likelihood, log loss: cross-entropy
dataset, dataloader, data loader, training data: corpus
rotary embedding: rotary positions
sinusoidal, relative position: position vector
multi gpu, multiple gpu, cluster: many machines
prerequisite: before you start
quiz: exercise
training cost, cost of training: what compute buys
tokenization, tokenisation: tokenizer
fine tune, finetune, lora: fine-tuning
mechanistic interpretability, interpretability, mech interp: reading a trained model
scaling law, chinchilla, compute optimal: what compute buys
end of text, eos, eos token: endoftext
out of vocabulary, oov, unk: unknown token
vocab, vocab size, vocabulary size: vocabulary
argmax, temperature 0, temperature zero, deterministic: greedy decoding
repetition, repetition penalty, repeats itself: repeats penalty
learning rate schedule, lr schedule, scheduler, cosine schedule: cosine warmup
cosine decay, cosine annealing: cosine warmup
lr: learning rate
gradient descent: gradient step
reproducible, reproducibility, random seed: seed
quantization, quantized, quantize, 8 bit: int8
out of memory, oom: bytes each parameter
save model, load model, save weight, load weight: load checkpoint
how to install, pip install, get the package: install the package
my own data, my own text, own data, custom data, my data: own text
hugging face: huggingface
apple silicon, metal: mps
color: colour
tokeniser: tokenizer
neighbor: neighbour
solution, answer key: exercise
einsum, matmul, matrix multiplication: matrix product
"""


TYPED = {
    typed: book
    for line in TABLE.strip().splitlines()
    for names, book in [line.split(": ")]
    for typed in names.split(", ")
}


def pairs() -> list[tuple[str, str]]:
    """What is typed, without its spaces, and the book's words."""
    return [(typed.replace(" ", ""), book) for typed, book in TYPED.items()]


def pattern() -> str:
    """A regular expression of JavaScript's for what is typed, the longest first."""
    longest = sorted(TYPED, key=len, reverse=True)
    typed = "|".join(longest).replace(" ", "[ -]?")
    return rf"(?<![\p{{L}}\p{{N}}_.])({typed})s?(?!\.?[\p{{L}}\p{{N}}_(])"
