"""Rotary positions."""

import operator
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from mygpt.check.locate.stage import Stage, also, stage
from mygpt.check.reference import Reference, same
from mygpt.check.task import Arguments, Draw, probes


def along(x: Tensor, axis: int = 2) -> Tensor:
    """Count along an axis."""
    count = torch.arange(x.shape[axis], dtype=x.dtype)
    return count.view(-1, *[1] * (3 - axis))


def turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Turn pairs."""
    return a * cos - b * sin, a * sin + b * cos


def rotate_with(
    x: Tensor,
    start: int,
    *,
    count=along,
    place=operator.add,
    exponent=lambda i: i / len(i),
    base=10_000.0,
    angle=operator.mul,
    split=lambda x: x.chunk(2, -1),
    turn=turned,
    join=lambda pairs: torch.cat(pairs, -1),
) -> Tensor:
    """Rotary positions in pieces."""
    i = torch.arange(x.shape[-1] // 2, dtype=x.dtype)
    angles = angle(place(start, count(x)), base ** -exponent(i))
    return join(turn(*split(x), angles.cos(), angles.sin()))


def from_turned(
    a: Tensor, b: Tensor, cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor]:
    """Turn the second of each pair by the first as it is already turned."""
    a = a * cos - b * sin
    return a, a * sin + b * cos


ROTATION = Reference(
    rotate_with,
    """
    [count] the positions
    axis-of-heads: the positions are counted along axis 1, the heads, not along axis 2
    ~ axis-of-batch: the positions are counted along axis 0, B, not along axis 2
    [place] the place = {start} + {it} | torch.arange({start}, {start} + {size})
    start-ignored: start is ignored: position t stands at place t
    start-for-all: every position stands at place start
    from-one: position t stands at place start + t + 1
    ~ start-subtracted: position t stands at place t - start
    [exponent] the exponent = {left} / {size} | {left} / ({size} // 2)
    whole-width: the exponent divides i by D, not by D/2
    half-of-half: the exponent divides i by D/4, not by D/2
    not-divided: the exponent is -i: it is not divided by D/2
    no-minus-in-exponent: the minus of the exponent is missing, so that later pairs turn
        faster, not more slowly
    same-speed: all pairs turn at the speed of the first
    exponent-from-one: the exponents begin with i = 1, so that the first pair turns too
        slowly
    to-the-end: the exponent divides i by D/2 - 1, not by D/2
    [base] the base
    ~ other-base = 1000.0, 100000.0: the base of the speeds is {}, not 10000
    [angle] the angle
    speed-added: the speed is added to the place, not multiplied by it
    [turn] the turn = {a} * {cos} - {b} * {sin} | {a} * {sin} + {b} * {cos}
        | [{a} * {cos} - {b} * {sin}, {a} * {sin} + {b} * {cos}]
    backwards: the pairs are turned the other way: a cos + b sin and b cos - a sin
    exchanged: sine and cosine change places
    no-minus: the first of each pair is a cos + b sin: the minus is missing
    from-turned: the second of each pair is computed from the first as it is already
        turned
    second-unturned: only the first of each pair is turned
    [split] the pairs
    ~ neighbours-apart: channel 2i is paired with 2i + 1, and what comes out is put into
        the channels i and i + D/2
    [join] the order of the channels
    halves-exchanged: the two halves of the result change places
    ~ put-between: the pairs i and i + D/2 are put into the channels 2i and 2i + 1
    [together] the pairs
    neighbours = neighbours-apart + put-between: channel 2i is paired with 2i + 1, not
        channel i with i + D/2
    """,
    axis_of_heads=partial(along, axis=1),
    axis_of_batch=partial(along, axis=0),
    start_ignored=lambda start, t: t,
    start_for_all=lambda start, t: start + 0 * t,
    from_one=lambda start, t: start + t + 1,
    start_subtracted=lambda start, t: t - start,
    whole_width=lambda i: i / (2 * len(i)),
    half_of_half=lambda i: 2 * i / len(i),
    not_divided=same,
    no_minus_in_exponent=lambda i: -i / len(i),
    same_speed=lambda i: 0 * i,
    exponent_from_one=lambda i: (i + 1) / len(i),
    to_the_end=lambda i: i / max(1, len(i) - 1),
    speed_added=operator.add,
    backwards=lambda a, b, cos, sin: turned(a, b, cos, -sin),
    exchanged=lambda a, b, cos, sin: turned(a, b, sin, cos),
    no_minus=lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos),
    from_turned=from_turned,
    second_unturned=lambda a, b, cos, sin: (a * cos - b * sin, b),
    neighbours_apart=lambda x: (x[..., ::2], x[..., 1::2]),
    halves_exchanged=lambda pairs: torch.cat(pairs[::-1], -1),
    put_between=lambda pairs: torch.stack(pairs, -1).flatten(-2),
)


def make_heads(draw: Draw, B: int, H: int, T: int, pairs: int, start: int) -> Arguments:
    """Make heads of a width of so many pairs."""
    return {"x": draw.normal(B, H, T, 2 * pairs, mean=0.5), "start": start}


def stages_of_rotation(x: Tensor, start: int) -> Iterator[Stage]:
    """The stages of rotary positions."""
    half = x.shape[-1] // 2
    speeds = 10_000.0 ** -(torch.arange(half, dtype=x.dtype) / half)
    yield stage("the speeds", speeds, 1 / speeds)
    angles = (start + torch.arange(x.shape[2], dtype=x.dtype))[:, None] * speeds
    twice = torch.cat([angles, angles], -1)
    also(lambda: (twice.cos(), twice.sin()))
    yield stage("the angles", angles)
    cos, sin = angles.cos(), angles.sin()
    yield stage("their cosines", cos, needs=["the angles"])
    yield stage("their sines", sin, needs=["the angles"])
    a, b = x.chunk(2, -1)
    other = torch.cat([-b, a], -1)
    also(lambda: (x * twice.cos(), other * twice.sin()))
    also(lambda: (a * cos, b * sin, a * sin, b * cos))
    whole = x * twice.cos() + other * twice.sin()
    yield stage("the pairs, turned", whole, needs=["their cosines", "their sines"])


rotate = ROTATION.task(
    "rotate",
    reference=rotate_with,
    make=make_heads,
    stages=stages_of_rotation,
    least={"pairs": 2, "start": 0},
    probes=probes("B H T pairs start", "1 2 3 2 4 | 2 1 4 3 0 | 1 3 2 4 7 | 3 4 5 1 1"),
)
