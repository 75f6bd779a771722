import torch


def attend(q, k, mask):
    assert mask.any(), "all is masked"
    scores = q @ k.T
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


def graphmend_entry():
    return attend, (torch.randn(2, 4), torch.randn(3, 4), torch.tensor([True, False, True]))
