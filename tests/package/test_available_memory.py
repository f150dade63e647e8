"""What this machine has: a training that does not fit is refused before it starts."""

import pytest
import torch

from mygpt.cli import train
from mygpt.gpt import GPT, GPTConfig
from mygpt.support import available_memory
from mygpt.support.available_memory import check_fits, free_memory

CPU = torch.device("cpu")


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GB free, and no limit for this process's group."""
    memory, group = tmp_path / "meminfo", tmp_path / "group"
    group.mkdir()
    memory.write_text("MemTotal:  16000000 kB\nMemAvailable:  8000000 kB\n")
    (group / "memory.max").write_text("max\n")
    monkeypatch.setattr(available_memory, "MEMINFO", memory)
    monkeypatch.setattr(available_memory, "CGROUP", group)
    return group


def limit(group, most, used, cached):
    (group / "memory.max").write_text(f"{most}\n")
    (group / "memory.current").write_text(f"{used}\n")
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\nslab 3\n")


def test_free_memory_is_what_the_system_can_give(system):
    assert free_memory(CPU) == 8_000_000 * 1024


def test_a_containers_limit_counts_where_it_is_lower(system):
    limit(system, 3_000_000, 2_000_000, 500_000)
    assert free_memory(CPU) == 1_500_000
    (system / "memory.stat").write_text("anon 5\n")  # of kept files nothing is said
    assert free_memory(CPU) == 1_000_000
    limit(system, 10**12, 0, 0)
    assert free_memory(CPU) == 8_000_000 * 1024


def test_where_the_system_does_not_tell_nothing_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(available_memory, "MEMINFO", tmp_path / "none")
    monkeypatch.setattr(available_memory, "CGROUP", tmp_path / "none")
    assert free_memory(CPU) is None
    check_fits(10**15, CPU)
    assert free_memory(torch.device("meta")) is None


@pytest.mark.parametrize(("shard", "parts"), [(False, 1), (True, 6)])
def test_a_model_is_in_parts_only_when_it_is_shared_out(monkeypatch, shard, parts):
    asked = []
    monkeypatch.setattr(train, "check_fits", lambda *given: asked.append(given))
    monkeypatch.setenv("WORLD_SIZE", "6")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    model = GPT(GPTConfig(7, 5, 4, 2, 1))
    train.check_room(model, CPU, shard)
    assert asked == [(sum(p.numel() for p in model.parameters()), CPU, 2, parts)]


@pytest.mark.parametrize(
    ("processes", "parts", "most"),
    [  # 8.192 GB by 16 bytes for a parameter, or by 4 while a process starts
        (1, 1, 512_000_000),
        (2, 1, 256_000_000),
        (1, 4, 2_048_000_000),
        (1, 100, 2_048_000_000),
        (4, 4, 512_000_000),
    ],
)
def test_the_limit_is_exact(system, processes, parts, most):
    check_fits(most, CPU, processes, parts)
    with pytest.raises(ValueError, match=r"at least 8\.2 GB.* and 8\.2 GB are free"):
        check_fits(most + 100, CPU, processes, parts)
