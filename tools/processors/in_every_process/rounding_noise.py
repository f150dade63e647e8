"""Rounding noise: the last bits of results in which processors differ, changed.

Matrix products, sums, norms, softmax, exp and the like round differently on other
processors, and with other versions of the libraries. `RoundingNoise` stands for those
that cannot be had: it changes the last bits of what these operations give, forward
and backward, in the thread that entered it and in each that `threading` starts later.

It reaches no thread that ran before, none that `_thread` starts, and none of C++: those
in which PyTorch shares out one operation (whose result is changed as a whole) and those
of Gloo, which adds up what several processes computed. `unreached` lists the first.
Not changed either: NumPy, the functions of `math`, and decompositions such as the SVD.
"""

import threading
import zlib

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

# By aten's names; a backward pass, an in-place form or one with `out` is among them.
PRODUCTS = "mm addmm bmm baddbmm addbmm mv addmv dot vdot linear matmul convolution"
SUMS = "sum nansum mean cumsum prod cumprod logsumexp var std var_mean std_mean"
NORMS = "norm linalg_vector_norm linalg_matrix_norm _foreach_norm native_layer_norm"
NORMS += " native_group_norm _fused_rms_norm"
SOFTMAX = "_softmax _log_softmax softmax log_softmax _safe_softmax"
CURVES = "exp exp2 expm1 log log2 log10 log1p erf erfc tanh sigmoid gelu silu softplus"
CURVES += " sin cos"
ATTENTION = "_scaled_dot_product_flash_attention_for_cpu scaled_dot_product_attention"
ATTENTION += " _scaled_dot_product_attention_math"
LOSSES = "nll_loss nll_loss2d mse_loss cross_entropy_loss binary_cross_entropy"
NOISY = " ".join((PRODUCTS, SUMS, NORMS, SOFTMAX, CURVES, ATTENTION, LOSSES)).split()
AT_MOST_ONE = ["_softmax", "softmax", "_safe_softmax", "erf", "tanh", "sigmoid"]
ENDINGS = ("_forward", "_backward", "_backward_data")
LOW = {torch.bfloat16, torch.float16}
SINGLE = {torch.float32, *LOW}
WHOLE = {torch.float32: (np.float32, np.uint32), torch.float64: (np.float64, np.uint64)}
# Of a float's bits those of its digits: neither the exponent nor the sign.
DIGITS = {np.dtype(np.uint32): 2**23 - 1, np.dtype(np.uint64): 2**52 - 1}
LARGE_ERROR = np.float32(2.0**-21)  # relative; four units of a float32 or more
SMALLEST, LARGEST = np.float32(1e-37), np.float32(1e37)


class RoundingNoise(TorchDispatchMode):
    """Change results by up to `2 ** (bits - 1)` units of the last place.

    Where terms cancelled, the unit is the error that float32 made. The change is a
    function of the seed, the operation, and the significant digits of its inputs and of
    the number, so equal calls stay equal, and the results of halved or negated inputs
    are still half or the negative. Zeros, infinities, NaN and what float32 gives
    exactly stay. At 0 bits nothing changes.
    """

    def __init__(self, seed: int, bits: int) -> None:
        super().__init__()
        self.seed, self.reach = seed, 2**bits // 2
        self.known: dict[object, tuple[str, int]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # wrapping each call would import the compiler, and cost time

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(is_wrapper(kind) for kind in types):
            return NotImplemented  # its own parts come by later
        name, salt = self.known.get(func) or self.look_at(func)
        if not name:
            return func(*args, **kwargs)
        inputs = list(tensors((args, {n: v for n, v in kwargs.items() if n != "out"})))
        for tensor in inputs:
            salt = (salt * 0x9E3779B1 + bits_of(tensor)) & 0xFFFFFFFF
        exact = None
        if any(tensor.dtype in SINGLE for tensor in inputs):
            exact = in_double(func, args, kwargs)
        result = func(*args, **kwargs)
        with np.errstate(all="ignore"):
            for value, true in pairs(result, exact):
                change(value, true, salt, self.reach, name in AT_MOST_ONE)
        return result

    def look_at(self, func) -> tuple[str, int]:
        """Remember the name of an operation, if it is noisy, and its own salt."""
        name = noisy_name(func) if self.reach else ""
        self.known[func] = name, zlib.crc32(f"{self.seed} {func}".encode())
        return self.known[func]


def is_wrapper(kind: type) -> bool:
    return kind is not Tensor and kind.__torch_dispatch__ is not (
        Tensor.__torch_dispatch__
    )


def noisy_name(func) -> str:
    """Name the operation if it is one of NOISY; else an empty text."""
    namespace, _, name = func._schema.name.partition("::")
    stem = name
    for ending in ENDINGS:
        stem = stem.removesuffix(ending)
    if stem not in NOISY:
        stem = stem.removesuffix("_")  # in place
    return name.removesuffix("_") if namespace == "aten" and stem in NOISY else ""


def tensors(values):
    """Find the tensors in nested lists, tuples and dicts."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from tensors(value)
    elif isinstance(values, dict):
        yield from tensors(list(values.values()))


def bits_of(tensor: Tensor) -> int:
    """Combine the digits of all numbers of a tensor; their order does not count."""
    if tensor.dtype in LOW:
        tensor = tensor.float()
    if tensor.dtype not in WHOLE:
        return 0
    words = tensor.detach().numpy().view(WHOLE[tensor.dtype][1])
    return int(np.bitwise_xor.reduce(words, axis=None)) & DIGITS[words.dtype]


def in_double(func, args, kwargs):
    """Compute the same in float64; None where there is no way."""
    try:
        return func(*doubled(args), **doubled(kwargs))
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def doubled(value):
    if isinstance(value, Tensor):
        return value.double() if value.dtype in SINGLE else value
    if isinstance(value, list | tuple):
        return type(value)(map(doubled, value))
    if isinstance(value, dict):
        return {name: doubled(part) for name, part in value.items()}
    return (
        torch.float64 if isinstance(value, torch.dtype) and value in SINGLE else value
    )


def pairs(result, exact):
    """Pair each floating result with its value in float64, or with None."""
    found = [r for r in tensors(result) if r.is_floating_point() and r.numel()]
    trues = [e for e in tensors(exact) if e.is_floating_point() and e.numel()]
    if len(trues) != len(found):
        trues = [None] * len(found)
    return zip(found, trues, strict=True)


def change(result: Tensor, exact: Tensor | None, salt: int, reach: int, most_one: bool):
    """Change the last bits of a result in place."""
    if result.dtype in LOW and exact is not None:
        change_low(result, exact, salt, reach)
    if result.dtype not in WHOLE:
        return
    old = np.atleast_1d(result.detach().numpy())
    words = old.view(WHOLE[result.dtype][1])
    steps = offsets(words, salt, reach)
    new = (words + steps.astype(words.dtype)).view(old.dtype)
    single = exact is not None and result.dtype == torch.float32
    if single:
        true = np.atleast_1d(exact.detach().numpy())
        new = by_error(old, new, true, steps)
    else:
        true = old.astype(np.float32)
    if most_one:
        np.clip(new, -1, 1, out=new)
    size = np.abs(old)
    moves = (size > SMALLEST) & (size < LARGEST) & (old != true)
    np.copyto(old, new, where=moves)


def offsets(words: np.ndarray, salt: int, reach: int) -> np.ndarray:
    """Draw whole numbers from -reach to reach, by the digits and the salt."""
    digits = words & words.dtype.type(DIGITS[words.dtype])
    mixed = digits.astype(np.uint32)
    if words.itemsize == 8:
        mixed ^= (digits >> np.uint64(32)).astype(np.uint32)
    mixed += np.uint32(salt)
    mixed *= np.uint32(0x7FEB352D)
    mixed ^= mixed >> np.uint32(15)
    mixed *= np.uint32(0x846CA68B)
    mixed >>= np.uint32(8)
    mixed *= np.uint32(2 * reach + 1)
    mixed >>= np.uint32(24)
    return mixed.view(np.int32) - np.int32(reach)


def by_error(old, new, true, steps) -> np.ndarray:
    """Where float32 lost more than a few units, move by as much as it lost."""
    error = np.abs(old - true.astype(np.float32))
    lost = error > LARGE_ERROR * np.abs(old)
    if not lost.any():
        return new
    moves = np.clip(steps, -1, 1).astype(np.float32) * np.copysign(error, old)
    return np.where(lost, old + moves, new)


def change_low(result: Tensor, exact: Tensor, salt: int, reach: int) -> None:
    """Half precision: take the neighbour where the noise of a float32 crosses."""
    single = exact.float()
    noisy = single.clone()
    change(noisy, exact, salt, reach, False)
    crossed = noisy.to(result.dtype) != single.to(result.dtype)
    result.copy_(torch.where(crossed, noisy.to(result.dtype), result))


REACHED: set[int] = set()  # of the threads in which the noise is on


def begin(seed: int, bits: int) -> None:
    """Turn the noise on in this thread and in those that it starts."""
    RoundingNoise(seed, bits).__enter__()
    REACHED.add(threading.get_ident())
    run = threading.Thread.run

    def with_noise(self):
        REACHED.add(threading.get_ident())
        with RoundingNoise(seed, bits):
            run(self)

    threading.Thread.run = with_noise


def unreached() -> list[str]:
    """Name the threads of Python that run without noise."""
    return [t.name for t in threading.enumerate() if t.ident not in REACHED]
