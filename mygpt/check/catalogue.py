"""All tasks, in the book's order."""

from mygpt.check.task import Task
from mygpt.check.tasks.answer import answer
from mygpt.check.tasks.attention import attention, heads
from mygpt.check.tasks.block import block, pre_norm_wiring
from mygpt.check.tasks.embedding import cross_entropy, embedding
from mygpt.check.tasks.feed_forward import gelu, gelu_tanh, mlp
from mygpt.check.tasks.gpt import gpt
from mygpt.check.tasks.norm import layer_norm, layer_norm_gradient
from mygpt.check.tasks.sampling import cached_step, generate, top_k, top_p
from mygpt.check.tasks.tensors import row_times_matrix, softmax
from mygpt.check.tasks.tokens import bpe_encode, bpe_train
from mygpt.check.tasks.training import adamw_step, evaluate, train

IN_ORDER = (
    row_times_matrix,
    bpe_train,
    bpe_encode,
    softmax,
    cross_entropy,
    embedding,
    attention,
    heads,
    mlp,
    gelu,
    gelu_tanh,
    layer_norm,
    layer_norm_gradient,
    pre_norm_wiring,
    block,
    gpt,
    adamw_step,
    train,
    evaluate,
    top_k,
    top_p,
    cached_step,
    generate,
    answer,
)
TASKS: dict[str, Task] = {task.name: task for task in IN_ORDER}
