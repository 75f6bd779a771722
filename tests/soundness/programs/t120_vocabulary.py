import torch

TABLE = torch.arange(5.0)


def looked_up(x, ids):
    largest = ids.max()
    pairs = x[:, None] * x[None, :]
    if largest >= TABLE.shape[0]:
        raise ValueError("an id is out of the vocabulary")
    return pairs.sum() + TABLE[ids].sum(), largest


def graphmend_entry():
    return looked_up, [
        (torch.ones(6), torch.tensor([0, 1, 2, 3, 4, 0])),
        (torch.rand(6) + 1, torch.tensor([0, 0, 2, 3, 4, 0])),
    ]
