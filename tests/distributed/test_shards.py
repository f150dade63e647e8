"""Windows shared by processes: none is taken twice, none is lost."""

from collections import Counter

import pytest
import torch
from helpers.refusals import refused
from hypothesis import given
from hypothesis import strategies as st

from mygpt.distributed.shards import Shards, derived_seed

LENGTH = 3


@st.composite
def splits(draw):
    """How many windows there are, the rows of a batch, and two numbers of processes."""
    batch_size = draw(st.integers(1, 24))
    divisors = [n for n in range(1, batch_size + 1) if batch_size % n == 0]
    processes = st.sampled_from(divisors)
    num_windows = batch_size + draw(st.integers(0, 30))
    return num_windows, batch_size, draw(processes), draw(processes)


def team(num_windows, batch_size, world_size, seed=0):
    """The shards of all processes, on ids whose tail is not a whole window."""
    ids = torch.arange(num_windows * LENGTH + 1 + num_windows % LENGTH)
    ranks = range(world_size)
    return [Shards(ids, batch_size, LENGTH, seed, rank, world_size) for rank in ranks]


def batch(processes):
    return [window for one in processes for window in one.next_windows()]


@given(splits(), st.integers(0, 2**32))
def test_each_pass_takes_every_window_once(split, seed):
    num_windows, batch_size, world_size, _ = split
    processes = team(num_windows, batch_size, world_size, seed)
    batches = 2 * num_windows // batch_size + 2
    taken = [window for _ in range(batches) for window in batch(processes)]
    for start in range(0, len(taken) - num_windows + 1, num_windows):
        one_pass = taken[start : start + num_windows]
        assert sorted(one_pass) == list(range(num_windows))


@given(splits(), st.integers(0, 5))
def test_the_batch_is_the_same_for_any_number_of_processes(split, batches):
    num_windows, batch_size, few, many = split
    a, b = team(num_windows, batch_size, few), team(num_windows, batch_size, many)
    for _ in range(batches):
        assert batch(a) == batch(b)


@given(splits(), st.integers(0, 5))
def test_other_processes_go_on_where_the_first_stopped(split, batches):
    num_windows, batch_size, before, after = split
    whole = team(num_windows, batch_size, 1)
    first, second = (team(num_windows, batch_size, n) for n in (before, after))
    taken = [batch(first) for _ in range(batches)]
    for one in second:
        one.load_state_dict(first[0].state_dict())
    taken += [batch(second) for _ in range(3)]
    assert taken == [batch(whole) for _ in range(batches + 3)]


@given(splits())
def test_every_pass_has_an_order_of_its_own(split):
    num_windows, *_ = split
    (one,) = team(max(num_windows, 12), 1, 1)
    passes = [
        tuple(one.next_windows()[0] for _ in range(one.num_windows)) for _ in range(3)
    ]
    assert len(set(passes)) == 3


def test_without_a_seed_it_is_0():
    ids = torch.arange(100)
    first, same = Shards(ids, 8, LENGTH), Shards(ids, 8, LENGTH, seed=0)
    assert first.next_windows() == same.next_windows()


def test_another_seed_gives_another_order():
    orders = []
    for seed in (0, 1):
        (one,) = team(40, 40, 1, seed)
        orders.append(one.next_windows())
    assert orders[0] != orders[1]
    # The second pass of one seed is not the first of the next.
    (one,) = team(40, 40, 1, 0)
    one.next_windows()
    assert one.next_windows() != orders[1]


def test_derived_seeds_differ_by_each_number_and_its_place():
    seeds = Counter(derived_seed(a, b) for a in range(20) for b in range(20))
    assert max(seeds.values()) == 1
    assert derived_seed(1, 23) != derived_seed(12, 3)


def test_a_row_is_its_window_and_targets_are_one_ahead():
    ids = torch.arange(5 * LENGTH + 2)
    shards = Shards(ids, 5, LENGTH)
    inputs, targets = next(shards)
    starts = sorted(inputs[:, 0].tolist())
    assert starts == [0, 3, 6, 9, 12]
    assert torch.equal(targets, inputs + 1)
    assert torch.equal(inputs, inputs[:, :1] + torch.arange(LENGTH))


test_what_cannot_be_shared_is_refused = refused(
    lambda arguments: Shards(*arguments),
    ((torch.arange(30), 4, 3, 0, 0, 3), "4 rows evenly: expected a batch of 6"),
    ((torch.arange(30), 4, 3, 0, 0, 8), "8 processes cannot share a batch of 4"),
    ((torch.arange(30), 12, 3), "9 windows of 3, and a batch takes 12"),
    ((torch.arange(30), 4, 3, 0, 2, 2), "rank must be below 2, got 2"),
    ((torch.arange(3), 1, 3), "expected at least 4 ids, got 3"),
    ((torch.arange(30), 0, 3), "batch_size must be a whole number"),
    ((torch.arange(30), 4, 3, 2**70), "seed must be a 64-bit whole number"),
)


@pytest.mark.parametrize("name", ["num_ids", "batch_size", "length", "seed"])
def test_a_position_of_other_data_is_refused(name):
    (one,) = team(8, 4, 1)
    state = one.state_dict()
    with pytest.raises(ValueError, match=f"saved with {name} = -1, but here it is"):
        one.load_state_dict(state | {name: -1})
    with pytest.raises(ValueError, match="position must be a whole number"):
        one.load_state_dict(state | {"position": -1})
