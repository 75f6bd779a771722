"""Large weights get repeated draws: their distribution, their rank, the program's own seed, and memory that nobody takes."""

import ctypes
import os
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

from graphmend_lsp.worker.first_values import LARGE, repeated_draws

SEED = 7
SIDE = 1024


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    before = torch.random.get_rng_state()
    torch.manual_seed(SEED)
    yield
    torch.random.set_rng_state(before)


@pytest.fixture(params=["mapped", "copied"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "copied":  # as where another allocator is put in front of the system's
        monkeypatch.setenv("LD_PRELOAD", "libother.so")


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(
    ("fill", "mean", "deviation"),
    [
        (lambda tensor: tensor.normal_(), 0.0, 1.0),
        (lambda tensor: tensor.normal_(3.0, 0.5), 3.0, 0.5),
        (lambda tensor: tensor.normal_(mean=-1.0, std=0.02), -1.0, 0.02),
        (lambda tensor: tensor.uniform_(-2.0, 2.0), 0.0, 4 / 12**0.5),
        (lambda tensor: nn.init.kaiming_uniform_(tensor, a=5**0.5), 0.0, SIDE**-0.5 / 3**0.5),
        (lambda tensor: nn.init.trunc_normal_(tensor, std=0.1), 0.0, 0.1),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_values_are_distributed_as_asked(
    fill: Callable[[torch.Tensor], torch.Tensor], mean: float, deviation: float, dtype: torch.dtype
) -> None:
    tensor = torch.zeros(SIDE, SIDE, dtype=dtype)
    with repeated_draws(SEED):
        assert fill(tensor) is tensor
    values = tensor.double()
    zeros = 0
    if dtype == torch.bfloat16:  # of which torch's own draws are coarser in older versions
        own = fill(torch.zeros(SIDE, SIDE, dtype=dtype)).double()
        mean, deviation, zeros = own.mean().item(), own.std().item(), int((own == 0).sum())
    assert values.mean().item() == pytest.approx(mean, abs=deviation / 50)
    assert values.std().item() == pytest.approx(deviation, rel=0.02)
    assert (values == 0).sum() <= 64 + 1.2 * zeros


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("shape", [(1, 1 << 19), (3, 333_333), (1024, 1024), (1031, 1031), (4096, 4096), (300, 77, 31)])
def test_every_value_is_written_and_enough_rows_differ(shape: tuple[int, ...]) -> None:
    tensor = torch.full(shape, float("nan"))
    with repeated_draws(SEED):
        tensor.normal_()
    assert tensor.isfinite().all()
    rows = tensor.flatten(0, -2)[:, :64]
    assert rows.unique(dim=0).shape[0] >= min(rows.shape[0], shape[-1])


def test_a_square_weight_keeps_its_rank_and_two_weights_differ() -> None:
    with repeated_draws(SEED):
        one, two = nn.Linear(SIDE, SIDE), nn.Linear(SIDE, SIDE)
    assert torch.linalg.matrix_rank(one.weight.detach()[:512, :512]) == 512
    assert (one.weight == two.weight).float().mean() < 0.01


def test_the_same_seed_gives_the_same_values() -> None:
    made = []
    for _ in range(2):
        torch.manual_seed(SEED)
        with repeated_draws(SEED):
            made.append(nn.Sequential(nn.Embedding(4096, 96), nn.Linear(SIDE, SIDE)).state_dict())
    assert {name: int((made[0][name] != made[1][name]).sum()) for name in made[0]} == dict.fromkeys(made[0], 0)


@pytest.mark.parametrize("shift", [0, 1, 16, 1008, 1024])
def test_values_do_not_depend_on_where_the_allocator_puts_them(shift: int) -> None:
    made = []
    for start in (0, shift):
        torch.manual_seed(SEED)
        with repeated_draws(SEED):
            made.append(torch.empty(LARGE + start)[start:].normal_())
    assert torch.equal(*made)


@pytest.mark.parametrize(
    "program",
    [
        lambda: torch.manual_seed(11) and torch.empty(SIDE, SIDE).normal_(),
        lambda: torch.empty(SIDE, SIDE).normal_(generator=torch.Generator().manual_seed(3)),
        lambda: torch.empty(SIDE, SIDE).t().normal_(),
        lambda: torch.empty(2 * SIDE, SIDE)[::2].uniform_(),
        lambda: torch.empty(64, 64).normal_(),
    ],
    ids=["own seed", "own generator", "transposed", "strided", "small"],
)
def test_what_must_be_drawn_is_drawn(program: Callable[[], torch.Tensor]) -> None:
    plain = program()
    torch.manual_seed(SEED)
    with repeated_draws(SEED):
        assert torch.equal(program(), plain)


def test_writing_to_one_weight_leaves_the_others() -> None:
    with repeated_draws(SEED):
        weights = [torch.empty(SIDE, SIDE).normal_() for _ in range(3)]
    kept = [weight.clone() for weight in weights]
    weights[1].zero_()
    assert torch.equal(weights[0], kept[0])
    assert torch.equal(weights[2], kept[2])
    assert not weights[1].any()


def test_a_write_is_one_for_autograd_and_an_error_stays_one() -> None:
    weight = nn.Parameter(torch.empty(SIDE, SIDE))
    with repeated_draws(SEED):
        before = weight._version
        nn.init.normal_(weight)
        assert weight._version > before
        with pytest.raises(RuntimeError, match="leaf Variable"):
            weight.normal_()
        with pytest.raises(RuntimeError, match="std"):
            torch.empty(SIDE, SIDE).normal_(0.0, -1.0)


def test_torch_is_as_it_was_afterwards() -> None:
    with repeated_draws(SEED):
        assert "normal_" in vars(torch.Tensor)
    assert not {"normal_", "uniform_"} & vars(torch.Tensor).keys()
    with pytest.raises(KeyError), repeated_draws(SEED):
        raise KeyError
    assert not {"normal_", "uniform_"} & vars(torch.Tensor).keys()


def test_large_weights_take_no_memory_until_they_are_written_to() -> None:
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    if not os.path.exists("/proc/self/statm") or ctypes.sizeof(ctypes.c_void_p) < 8:
        with repeated_draws(SEED):  # nothing to be saved there; the values are
            assert torch.empty(LARGE).normal_().std() > 0.9
        return
    before = resident()
    with repeated_draws(SEED):
        weights = [torch.empty(8192, 8192).normal_() for _ in range(4)]  # 1 GiB
    assert resident() - before < 64 << 20
    assert weights[3][-1].std() > 0.9
