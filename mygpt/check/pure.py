"""The calls that only compute: they change nothing, whatever they are given."""

# Functions of PyTorch and methods of its tensors that make new tensors or numbers, and
# the operations of ATen behind them.
TENSOR_CALLS = frozenset({
    "abs", "add", "addmm", "alias", "amax", "amin", "arange", "argmax", "argmin",
    "argsort", "bitwise_not", "bmm", "bool", "broadcast_to", "cat", "chunk",
    "clamp", "clone", "contiguous", "cos", "cumsum", "detach", "diagonal", "diff",
    "dim", "div", "dot", "double", "embedding", "eq", "erf", "exp", "expand", "eye",
    "flatten", "flip", "float", "full", "gather", "ge", "gelu", "gt", "index",
    "int", "item", "le", "linear", "log", "log_softmax", "logical_not", "logsumexp",
    "long", "lt", "masked_fill", "matmul", "max", "mean", "median", "min", "mm",
    "movedim", "mul", "mv", "neg", "new_ones", "new_zeros", "norm", "numel",
    "one_hot", "ones", "ones_like", "outer", "permute", "pow", "prod", "reciprocal",
    "relu", "repeat", "reshape", "rsqrt", "rsub", "scatter", "select", "sigmoid",
    "sin", "size", "slice", "softmax", "sort", "split", "split_with_sizes", "sqrt",
    "square", "squeeze", "stack", "std", "sub", "sum", "swapaxes", "t", "tanh",
    "to", "topk", "transpose", "tril", "triu", "type_as", "unbind", "unflatten",
    "unsqueeze", "var", "view", "where", "zeros", "zeros_like", "_log_softmax",
    "_softmax", "_to_copy", "_unsafe_view", "_view", "unsafe_view",
})  # fmt: skip

# Python's own functions that only read their arguments or make new objects.
BUILTINS = frozenset({
    "abs", "all", "any", "bool", "bytes", "dict", "enumerate", "float", "int",
    "isinstance", "len", "list", "max", "min", "ord", "range", "reversed", "set",
    "sorted", "str", "sum", "tuple", "zip",
})  # fmt: skip
