import torch


def scaled(x, scales):
    out = []
    for i in range(x.shape[0]):
        if scales[i] > 0:
            out.append(x[i] * scales[i])
        else:
            out.append(x[i])
    return torch.stack(out)


def graphmend_entry():
    return scaled, (torch.randn(4, 3), torch.tensor([1.0, -1.0, 2.0, 0.0]))
