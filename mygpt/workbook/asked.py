"""What each task asks of the reader, in the book's order; nothing here computes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# File and title of the chapters that the tasks belong to.
CHAPTERS = {
    "tensors": "Before you start: tensors",
    "01_tokens": "1. Tokens",
    "02_embeddings": "2. Embeddings, positions, and a first language model",
    "03_attention": "3. Attention",
    "04_heads": "4. Many heads",
    "05_feed_forward": "5. The feed-forward network",
    "06_activations": "6. GELU and ReLU",
    "08_layer_norm": "8. Layer normalisation",
    "09_transformer_block": "9. The transformer block",
    "10_memory": "10. The feed-forward network is a memory",
    "12_gpt": "12. GPT",
    "13_training": "13. Training",
    "14_generation": "14. Choosing the next word",
    "14b_cache": "14b. Not computing it twice",
    "15_gpt2": "15. GPT-2's weights",
    "16_after_gpt2": "16. After GPT-2",
    "17_many_machines": "17. More than one machine",
}


@dataclass(frozen=True, eq=False)
class Asked:
    """What the reader is asked to write.

    name: of the function.
    chapter: file of the chapter that explains it, one of CHAPTERS.
    label: of the section that explains it; heading: its title.
    asks: what the function does.
    arguments: their names, in order, with shape or type.
    returns: shape or type of the result.
    differentiable: arguments to which a gradient must flow.
    example: lines of a doctest; `torch` is imported.
    """

    name: str
    chapter: str
    label: str
    heading: str
    asks: str
    arguments: Mapping[str, str]
    returns: str
    differentiable: Sequence[str]
    example: str

    @property
    def signature(self) -> str:
        """The call of the function, with the names of its arguments."""
        return f"{self.name}({', '.join(self.arguments)})"

    @property
    def shapes(self) -> dict[str, str]:
        """Shape or type of each argument and the result; where gradients must flow."""
        flow = {"gradients": f"flow back to {', '.join(self.differentiable)}"}
        wanted = flow if self.differentiable else {}
        return {**self.arguments, "returns": self.returns, **wanted}

    @property
    def section(self) -> str:
        """Titles of the chapter and the section that explain the task."""
        return f"“{CHAPTERS[self.chapter]}”, section “{self.heading}”"


# A task begins with its name, chapter, label and heading, where that is not "In code".
# Then come what it asks; indented, the arguments, what it returns and where gradients
# must flow; and an example.
TASKS = """
# row_times_matrix, tensors, check-row-times-matrix, A row times a matrix
Multiply the row x by the matrix W: entry j of the result is the sum over i of x[i] *
W[i, j].
    x: (C,)
    W: (C, F)
    returns: a tensor of shape (F,)
>>> W = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> row_times_matrix(torch.tensor([1.0, 10.0]), W)
tensor([31., 42.])
# bpe_train, 01_tokens, check-bpe-train, Learn the merges
Find the merges of byte-pair encoding. Each word begins as its UTF-8 bytes, ids 0 to
255. Count the pairs of neighbours in all words, a repeated word each time; take the
most frequent pair, of equally frequent ones the one that is smaller as a tuple; replace
it from left to right in every word by a new id, 256 for the first merge; and again.
Stop early when no pair occurs twice.
    words: list of str
    num_merges: int
    returns: a list of pairs of ids, in the order in which they were merged
>>> bpe_train(["low", "low", "lower"], 2)
[(108, 111), (256, 119)]
# bpe_encode, 01_tokens, check-bpe-encode, Encode and decode
Turn a text into ids. Begin with its UTF-8 bytes; go through merges in their order, and
replace each of these pairs everywhere, from left to right, by 256 plus its index in
merges.
    text: str
    merges: list of pairs of ids
    returns: a list of ids
>>> bpe_encode("slow", [(108, 111), (256, 119)])
[115, 257]
# softmax, 02_embeddings, check-softmax, From any numbers to probabilities
Turn each row of scores into probabilities: exp(score), divided by the sum of these over
the row. Scores from -1000 to 1000 must work, whatever the other rows hold.
    scores: (N, V)
    returns: a tensor of shape (N, V)
    gradients: scores
>>> softmax(torch.tensor([[0.0, 0.0], [0.0, 1.0]]))
tensor([[0.5000, 0.5000],
        [0.2689, 0.7311]])
# cross_entropy, 02_embeddings, check-cross-entropy, From any numbers to probabilities
Turn each row of logits into probabilities by a softmax and return the mean of
-ln(probability of the row's target). Logits from -1000 to 1000 must work, in one row
too.
    logits: (N, V)
    targets: (N,), ids
    returns: a tensor of shape (), in nats
    gradients: logits
>>> cross_entropy(torch.zeros(2, 4), torch.tensor([0, 3]))
tensor(1.3863)
# embedding, 02_embeddings, check-embedding, A vector for each place
Give every token its vector: row ids[b, t] of the token table plus row t of the position
table. The position table may have more rows than the text is long.
    ids: (B, T), whole numbers
    token_table: (V, C)
    position_table: (N, C) with N >= T
    returns: a tensor of shape (B, T, C)
    gradients: token_table, position_table
>>> tokens = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> positions = torch.tensor([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])
>>> embedding(torch.tensor([[1, 1]]), tokens, positions)
tensor([[[3.1000, 4.1000],
         [3.2000, 4.2000]]])
# attention, 03_attention, check-attention
Causal attention with one head: queries x W_Q, keys x W_K and values x W_V; scores query
· key / √D; each position's softmax over itself and the positions before it; the values,
weighted.
    x: (B, T, C)
    W_Q: (C, D)
    W_K: (C, D)
    W_V: (C, D)
    returns: a tensor of shape (B, T, D)
    gradients: x, W_Q, W_K, W_V
>>> one = torch.ones(1, 1)
>>> attention(torch.tensor([[[0.0], [1.0]]]), one, one, one)
tensor([[[0.0000],
         [0.7311]]])
# heads, 04_heads, check-heads
Causal attention with num_heads heads, each on D = C / num_heads neighbouring channels
of x W_Q + b_Q, x W_K + b_K and x W_V + b_V; the heads' results side by side, then times
W_O, plus b_O.
    x: (B, T, C)
    weights: dict: W_Q, W_K, W_V, W_O (C, C) and b_Q, b_K, b_V, b_O (C,)
    num_heads: int
    returns: a tensor of shape (B, T, C)
    gradients: x, weights
>>> weights = {f"W_{name}": torch.eye(2) for name in "QKVO"}
>>> weights |= {f"b_{name}": torch.zeros(2) for name in "QKVO"}
>>> heads(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), weights, 2)
tensor([[[1.0000, 0.0000],
         [0.5000, 0.7311]]])
# mlp, 05_feed_forward, check-mlp
The feed-forward network: h = x W1 + b1, GELU of h in either form, then times W2, plus
b2; each position on its own.
    x: (B, T, C)
    W1: (C, F)
    b1: (F,)
    W2: (F, C)
    b2: (C,)
    returns: a tensor of shape (B, T, C)
    gradients: x, W1, b1, W2, b2
>>> one = torch.ones(1, 1)
>>> mlp(torch.tensor([[[0.0], [5.0]]]), one, torch.zeros(1), 2 * one, torch.ones(1))
tensor([[[ 1.0000],
         [11.0000]]])
# gelu, 06_activations, check-gelu
GELU as defined: x Φ(x) = x/2 · (1 + erf(x / √2)), for each entry.
    x: any shape
    returns: a tensor of the shape of x
    gradients: x
>>> gelu(torch.tensor([-1.0, 0.0, 1.0]))
tensor([-0.1587,  0.0000,  0.8413])
# gelu_tanh, 06_activations, check-gelu-tanh
GPT-2's form of GELU: x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).
    x: any shape
    returns: a tensor of the shape of x
    gradients: x
>>> gelu_tanh(torch.tensor([-1.0, 0.0, 1.0]))
tensor([-0.1588,  0.0000,  0.8412])
# layer_norm, 08_layer_norm, check-layer-norm
Bring each position's vector to mean 0 and variance 1: subtract its mean, divide by
√(variance + eps), where the variance divides by C; then times weight, plus bias.
Numbers near 1000 must work in float32 too.
    x: (B, T, C)
    weight: (C,)
    bias: (C,)
    eps: float
    returns: a tensor of shape (B, T, C)
    gradients: x, weight, bias
>>> layer_norm(torch.tensor([[[1.0, 3.0]]]), torch.ones(2), torch.zeros(2), 0.0)
tensor([[[-1.,  1.]]])
# layer_norm_gradient, 08_layer_norm, check-layer-norm-gradient,
        The gradient avoids two directions
The gradients of layer_norm by formula: from dy, the gradient of the loss with respect
to the result, those with respect to x, weight and bias. With n the normalised x and g =
dy * weight: dx = (g - mean(g) - n * mean(g * n)) / √(variance + eps), means over the
channels; dweight and dbias are sums over batch and positions.
    dy: (B, T, C)
    x: (B, T, C)
    weight: (C,)
    eps: float
    returns: a tuple (dx, dweight, dbias) of shapes (B, T, C), (C,), (C,)
>>> dy, x = torch.tensor([[[1.0, 0.0, 0.0]]]), torch.tensor([[[-1.0, 0.0, 1.0]]])
>>> dx, dweight, dbias = layer_norm_gradient(dy, x, torch.ones(3), 0.0)
>>> dweight, dbias
(tensor([-1.2247,  0.0000,  0.0000]), tensor([1., 0., 0.]))
# wiring, 09_transformer_block, check-wiring
Wire a block as GPT-2 does. attention, mlp, ln1 and ln2 are functions that are given:
add to x what attention gives for ln1(x); then add what mlp gives for ln2 of that sum.
    x: (B, T, C)
    attention: function of (B, T, C)
    mlp: function of (B, T, C)
    ln1: function of (B, T, C)
    ln2: function of (B, T, C)
    returns: a tensor of shape (B, T, C)
    gradients: x
>>> x = torch.tensor([[[1.0]]])
>>> wiring(x, lambda x: 2 * x, lambda x: 10 * x, torch.abs, torch.abs)
tensor([[[33.]]])
# block, 09_transformer_block, check-block
A block of GPT-2: x plus the heads of ln1(x), then that plus the feed-forward network of
ln2 of it. The norms have eps 1e-5; GELU in either form.
    x: (B, T, C)
    weights: dict: W_Q, W_K, W_V, W_O (C, C), b_Q, b_K, b_V, b_O (C,), W1 (C, 4C), b1
        (4C,), W2 (4C, C), b2 (C,), ln1_weight, ln1_bias, ln2_weight, ln2_bias (C,)
    num_heads: int
    returns: a tensor of shape (B, T, C)
    gradients: x, weights
>>> names = ["b_Q", "b_K", "b_V", "b_O", "b2", "ln1_bias", "ln2_bias"]
>>> weights = {name: torch.zeros(2) for name in names}
>>> weights |= {name: torch.eye(2) for name in ["W_Q", "W_K", "W_V", "W_O"]}
>>> weights |= {"W1": torch.ones(2, 8), "W2": torch.ones(8, 2)}
>>> weights["b1"] = torch.zeros(8)
>>> weights |= {"ln1_weight": torch.ones(2), "ln2_weight": torch.ones(2)}
>>> y = block(torch.tensor([[[1.0, 3.0]]]), weights, 1)
>>> y.round(decimals=2)
tensor([[[0., 4.]]])
# write_facts, 10_memory, check-write-facts, Write the cards, train nothing
Write N facts into a network relu(x W1ᵀ + b1) W2ᵀ, a neuron for each. keys[n] is what
the network reads where fact n is asked, and centre what it reads on average. Neuron n
hears h = (x - centre) · w, with w = (keys[n] - centre) / |keys[n] - centre|², and gives
relu(h - threshold). At its own key, where h is 1, it adds exactly messages[n]. W1 and
W2 have the shapes that nn.Linear keeps.
    keys: (N, C)
    centre: (C,)
    messages: (N, C)
    threshold: float below 1
    returns: a tuple (W1, b1, W2) of shapes (N, C), (N,), (C, N)
>>> keys = torch.tensor([[3.0, 1.0], [1.0, 5.0]])
>>> messages = torch.tensor([[0.0, 2.0], [1.0, 3.0]])
>>> [part.tolist() for part in write_facts(keys, torch.ones(2), messages, 0.75)]
[[[0.5, 0.0], [0.0, 0.25]], [-1.25, -1.0], [[0.0, 4.0], [8.0, 12.0]]]
# gpt, 12_gpt, check-gpt, Write it yourself
A GPT's forward pass: token vectors plus position vectors, the blocks in order, the last
norm (eps 1e-5), and as logits the products with every row of the token table. The loss
is the mean cross-entropy in nats of logits[b, t] against targets[b, t], which are the
next tokens already.
    ids: (B, T), whole numbers
    targets: (B, T), whole numbers
    weights: dict: token (V, C), position (N, C) with N >= T, blocks (a list of block
        weights, as for `block`), ln_f_weight and ln_f_bias (C,)
    num_heads: int
    returns: a tuple (logits, loss) of shapes (B, T, V) and ()
    gradients: weights
>>> from mygpt.check import world_model
>>> model = world_model()
>>> ids = torch.tensor([model.encode("the capital of france is")])
>>> logits, loss = gpt(ids, ids, model.weights, model.num_heads)
>>> model.decode([int(logits[0, -1].argmax())])
'paris'
# adamw_step, 13_training, check-adamw, Write it yourself
One step of AdamW for one parameter; step is 1 for the first. If the parameter has two
or more axes, first multiply it by 1 - lr * decay. Then m = beta1 * m + (1 - beta1) *
gradient, v = beta2 * v + (1 - beta2) * gradient²; divide m by 1 - beta1^step and v by 1
- beta2^step, and subtract lr * m / (√v + eps). Return the new parameter and the new m
and v before those two divisions.
    parameter: any shape
    gradient: the same shape
    m: the same shape
    v: the same shape
    step: int, from 1
    lr: float
    beta1: float
    beta2: float
    eps: float
    decay: float
    returns: a tuple (parameter, m, v) of the same shapes
>>> zero, one = torch.zeros(1), torch.ones(1)
>>> adamw_step(one, 2 * one, zero, zero, 1, 0.1, 0.9, 0.99, 0.0, 0.1)
(tensor([0.9000]), tensor([0.2000]), tensor([0.0400]))
# train, 13_training, check-train, Write it yourself
A training loop: put the model in training mode, and take one step of the optimizer for
each batch. model(inputs, targets) gives (logits, loss); a batch is rows of T + 1 ids,
inputs all but the last, targets all but the first. Return the losses, each from before
its step.
    model: nn.Module
    batches: list of (B, T + 1), whole numbers
    optimizer: torch.optim.Optimizer of the model's parameters
    returns: a list of numbers, one for each batch
>>> class Model(torch.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.w = torch.nn.Parameter(torch.tensor(1.0))
...     def forward(self, inputs, targets):
...         return None, self.w**2 * (targets - inputs).sum()
>>> model = Model()
>>> optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
>>> train(model, [torch.tensor([[3, 4]])] * 2, optimizer)
[1.0, 0.25]
# evaluate, 13_training, check-evaluate, Write it yourself
The mean loss over all targets of all batches, whose B and T may differ, with the model
in evaluation mode and under `torch.no_grad()`; afterwards the model is in the mode that
it had before. Batches as for `train`.
    model: nn.Module
    batches: list of (B, T + 1), whole numbers
    returns: a number
>>> class Model(torch.nn.Module):
...     def forward(self, inputs, targets):
...         return None, targets.float().mean()
>>> evaluate(Model(), [torch.tensor([[0, 1]]), torch.tensor([[0, 4, 4, 4]])])
3.25
# top_k, 14_generation, check-top-k, Write it yourself
The probabilities after top-k: keep each row's k largest logits, give all others
probability 0, and take the softmax of what is left. k may exceed V.
    logits: (N, V)
    k: int
    returns: a tensor of shape (N, V)
>>> top_k(torch.tensor([[0.0, 2.0, 1.0]]), 2)
tensor([[0.0000, 0.7311, 0.2689]])
# top_p, 14_generation, check-top-p, Write it yourself
The probabilities after top-p (nucleus sampling): of each row keep the fewest likeliest
tokens whose probabilities add up to at least p (to exactly p is enough), give all
others probability 0, and take the softmax of what is left. The likeliest always stays.
    logits: (N, V)
    p: float above 0, at most 1
    returns: a tensor of shape (N, V)
>>> top_p(torch.tensor([[0.0, 2.0, 1.0]]), 0.7)
tensor([[0.0000, 0.7311, 0.2689]])
# cached_step, 14b_cache, check-cache, Write it yourself
A GPT's forward pass, as for `gpt`, for new ids that follow those already read. cache
holds what you kept of those, in a form of your own; None at first. Each block keeps its
keys and values, so the earlier positions are not computed again; the positions go on
where the cache ends. Return the logits after the last new id and the new cache; leave
the one that you are given as it is.
    ids: (B, T), the new ids
    weights: dict: token (V, C), position (N, C) with N >= T, blocks (a list of block
        weights, as for `block`), ln_f_weight and ln_f_bias (C,)
    num_heads: int
    cache: None, or what the call before returned
    returns: a tuple (logits, cache), logits of shape (B, V)
>>> from mygpt.check import world_model
>>> model, cache = world_model(), None
>>> for i in model.encode("the capital of france is"):
...     ids = torch.tensor([[i]])
...     logits, cache = cached_step(ids, model.weights, model.num_heads, cache)
>>> model.decode([int(logits[0].argmax())])
'paris'
# generate, 14b_cache, check-generate, Write it yourself
Continue ids by max_new_tokens, each time by the likeliest next id (greedy). step(ids,
cache) gives (logits, cache), logits of shape (B, V) for the id that follows; give it
the prompt with the cache None, then each time only the new ids with the cache that it
returned.
    step: function of (ids, cache)
    ids: (B, T), whole numbers
    max_new_tokens: int
    returns: a tensor of ids of shape (B, T + max_new_tokens)
>>> def step(ids, cache):
...     total = ids.sum(1, keepdim=True) + (0 if cache is None else cache)
...     return -(torch.arange(9) - total).abs(), total
>>> generate(step, torch.tensor([[1, 2]]), 2)
tensor([[1, 2, 3, 6]])
# answer, 14b_cache, check-answer, Write it yourself
Put your parts together: encode the prompt, continue it by max_new_tokens, always with
the likeliest token, and return the text of the new tokens. model.weights and
model.num_heads are as for `gpt`; model.encode(text) gives a list of ids,
model.decode(ids) a text.
    prompt: str
    model: trained model with weights, num_heads, encode, decode
    max_new_tokens: int
    returns: a str
>>> from mygpt.check import world_model
>>> answer("the capital of france is", world_model(), 1)
'paris'
# translate, 15_gpt2, check-translate, Write it yourself
Translate an array of a GPT-2 file, as Hugging Face stores it, for chapter 12's GPT.
Drop a leading `transformer.`; h.0 becomes blocks.0, wte.weight embedding.tokens,
wpe.weight embedding.positions, ln_1 ln1, ln_2 ln2, attn.c_proj heads.W_O, mlp.c_fc
mlp.fc1, mlp.c_proj mlp.fc2; ln_f stays. Transpose the matrices of linear layers.
attn.c_attn, weight and bias, holds those of heads.W_Q, heads.W_K and heads.W_V side by
side: give three pairs. Names that end in `.attn.bias` or `.attn.masked_bias` are old
causal masks: give none.
    name: str
    array: the tensor of this name
    returns: a list of pairs (our name, our array)
>>> translate("h.3.attn.c_proj.weight", torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
[('blocks.3.heads.W_O.weight', tensor([[1., 3.],
        [2., 4.]]))]
# rotate, 16_after_gpt2, check-rotate, Write it yourself
Rotary positions: position t of x stands at place start + t. Channels i and i + D/2, for
i from 0 to D/2 - 1, are a pair (a, b): turn it by the angle place · 10000^(-i / (D/2)),
to a cos - b sin and a sin + b cos.
    x: (B, H, T, D), D even
    start: int, from 0
    returns: a tensor of shape (B, H, T, D)
    gradients: x
>>> rotate(torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]]), 1)
tensor([[[[ 0.5403,  0.8415],
          [-0.4161,  0.9093]]]])
# ring, 17_many_machines, check-ring, Write it yourself
One turn of n workers in a ring; row w of team holds the n parts of worker w. Worker w
hands part (w - turn) mod n to worker w + 1, the last one to worker 0, all at the same
time. In turns 0 to n - 2 a worker adds what it gets to its own part, in turns n - 1 to
2n - 3 it keeps what it gets in place of its own. Return a new tensor; team stays as it
is.
    team: (n, n)
    turn: int, from 0 to 2n - 3
    returns: a tensor of shape (n, n), the table after the turn
>>> ring(torch.tensor([[1, 2, 3], [10, 20, 30], [100, 200, 300]]), 0)
tensor([[  1,   2, 303],
        [ 11,  20,  30],
        [100, 220, 300]])
"""


def tasks_of(text: str) -> Iterator[Asked]:
    """Read tasks from a text."""
    for task in text.split("\n# ")[1:]:
        said, mark, example = task.strip().partition(">>>")
        first, *rows = re.sub(r"\n {8}", " ", said).strip().split("\n")
        name, chapter, label, *heading = first.split(", ", 3)
        kinds = dict(row[4:].split(": ", 1) for row in rows if row.startswith("    "))
        asks = " ".join(row for row in rows if not row.startswith("    "))
        title, returns = [*heading, "In code"][0], kinds.pop("returns")
        to = re.findall(r"\w+", kinds.pop("gradients", ""))
        about = name, chapter, label, title, asks
        yield Asked(*about, kinds, returns, to, mark + example)


IN_ORDER = tuple(tasks_of(TASKS))
ASKED = {asked.name: asked for asked in IN_ORDER}


def asked_in(chapter: str | None) -> Sequence[Asked]:
    """Return the tasks of a chapter, named by its number; all of them for None.

    A chapter without tasks is a ValueError.
    """
    if chapter is None:
        return IN_ORDER
    named = chapter.lower().zfill(2)
    found = [one for one in IN_ORDER if named == one.chapter.split("_")[0]]
    if not found:
        names = ", ".join(name.split("_")[0].lstrip("0") for name in CHAPTERS)
        raise ValueError(f"no tasks in chapter {chapter!r}; expected one of {names}")
    return found
