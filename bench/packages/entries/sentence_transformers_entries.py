"""Sentence-Transformers: pooling and losses over token embeddings."""

import torch
from sentence_transformers import models, util


def tokens():
    generator = torch.Generator().manual_seed(1)
    mask = torch.ones(3, 5, dtype=torch.long)
    mask[1, 3:] = 0
    return {"token_embeddings": torch.randn(3, 5, 8, generator=generator), "attention_mask": mask}


def pooled(mode):
    pooling = models.Pooling(8, pooling_mode=mode)

    def embed(features):
        return pooling(dict(features))["sentence_embedding"]

    return embed, (tokens(),)


def graphmend_entry_mean():
    return pooled("mean")


def graphmend_entry_max():
    return pooled("max")


def graphmend_entry_last_token():
    return pooled("lasttoken")


def graphmend_entry_weighted_mean():
    return pooled("weightedmean")


def graphmend_entry_normalize():
    return (lambda x: models.Normalize()({"sentence_embedding": x})["sentence_embedding"]), (torch.randn(3, 8),)


def graphmend_entry_similarity():
    return util.pytorch_cos_sim, (torch.randn(3, 8), torch.randn(4, 8))


def graphmend_entry_semantic_search():
    return util.semantic_search, (torch.randn(2, 8), torch.randn(6, 8))
