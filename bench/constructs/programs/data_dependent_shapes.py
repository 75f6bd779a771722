"""Results whose size depends on values: masks that choose, nonzero, unique and the like."""

import torch


def nonzero(x):
    return torch.nonzero(x).float() + 1


def nonzero_count(x):
    return x + len(x.nonzero())


def where_of_one(x):
    return x[torch.where(x > 2)] + 1


def mask_chosen(x):
    return x[x > 2] + 1


def mask_mean(x):
    return x[x > 2].mean()


def mask_sum_with_default(x):
    chosen = x[x > 2]
    if chosen.numel() == 0:
        return x.sum()
    return chosen.sum()


def mask_assigned_number(x):
    y = x.clone()
    y[y > 2] = 0
    return y + 1


def mask_assigned_values(x):
    y = x.clone()
    mask = y > 2
    y[mask] = y[mask] * 2
    return y + 1


def mask_of_two(x, other):
    return (x[x > 2] * other[x > 2]).sum()


def masked_select(x):
    return torch.masked_select(x, x > 2) + 1


def masked_loss(x, other):
    valid = other > 0
    return ((x[valid] - other[valid]) ** 2).mean()


def unique(x):
    return torch.unique(x) + 1


def unique_count(x):
    return x / torch.unique(x).numel()


def bincount(x):
    return torch.bincount(x.long()) + 1


def bincount_of_known_length(x):
    return torch.bincount(x.long().clamp(0, 7), minlength=8) + 1


def repeat_by_counts(x):
    return torch.repeat_interleave(x, x.long()) + 1


def rows_by_argwhere(x):
    return x[torch.argwhere(x > 2).squeeze(-1)].sum()


def scatter_by_nonzero(x):
    out = torch.zeros_like(x)
    index = (x > 2).nonzero().squeeze(-1)
    out[index] = x[index] * 2
    return out


def experts(x):
    out = torch.zeros_like(x)
    route = (x > 2).long()
    for expert in range(2):
        chosen = torch.where(route == expert)[0]
        out.index_add_(0, chosen, x[chosen] * (expert + 1))
    return out


def sparse_round_trip(x):
    return x.to_sparse().to_dense() + 1


def argsort_by_values(x):
    return x[x.argsort(descending=True)] + 1


def top_values(x):
    return torch.topk(x, 2).values + 1


def multinomial(x):
    return torch.multinomial(x.abs() + 1, 2) + 1


def singular_values(x):
    return torch.linalg.svd(x[:, None] * x[None])[1] + 1
