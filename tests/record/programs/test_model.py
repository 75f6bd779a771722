import torch


def scale(x):
    if x.max() > 3:  # in a test
        return x / 2
    return x


def test_small():
    assert torch.compile(scale, backend="eager")(torch.ones(3)).shape == (3,)


def test_large():
    assert torch.compile(scale, backend="eager")(torch.full((3,), 10.0)).max() == 5
