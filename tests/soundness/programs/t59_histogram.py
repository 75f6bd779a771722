import torch


def weights(labels, classes: int):
    out = torch.zeros(classes)
    for label in labels.tolist():
        out[label] += 1
    return out


def graphmend_entry():
    return weights, (torch.tensor([1, 2, 2]), 4)
