"""Vector quantization: codebooks of vector-quantize-pytorch."""

import torch
import vector_quantize_pytorch as vq


def vectors():
    return (torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1)),)


def graphmend_entry_vector_quantize():
    return vq.VectorQuantize(dim=8, codebook_size=16), vectors()


def graphmend_entry_cosine_codebook():
    return vq.VectorQuantize(dim=8, codebook_size=16, use_cosine_sim=True), vectors()


def graphmend_entry_k_means_start():
    return vq.VectorQuantize(dim=8, codebook_size=4, kmeans_init=True, kmeans_iters=2), vectors()


def graphmend_entry_residual():
    return vq.ResidualVQ(dim=8, num_quantizers=2, codebook_size=16), vectors()


def graphmend_entry_finite_scalar():
    return vq.FSQ(levels=[4, 4, 4], dim=8), vectors()


def graphmend_entry_lookup_free():
    return vq.LFQ(codebook_size=16, dim=8), vectors()


def graphmend_entry_random_projection():
    return vq.RandomProjectionQuantizer(dim=8, num_codebooks=2, codebook_dim=4, codebook_size=8), vectors()


def graphmend_entry_simple():
    return vq.SimVQ(dim=8, codebook_size=16), vectors()
