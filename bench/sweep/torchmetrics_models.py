"""Metrics of torchmetrics, functions and classes, over its areas, chosen by name before any was compiled; default arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any


def binary() -> dict[str, Any]:
    import torch

    return dict(preds=torch.rand(32), target=torch.randint(2, (32,)))


def multiclass() -> dict[str, Any]:
    import torch

    return dict(preds=torch.randn(32, 5).softmax(dim=-1), target=torch.randint(5, (32,)))


def multilabel() -> dict[str, Any]:
    import torch

    return dict(preds=torch.rand(16, 4), target=torch.randint(2, (16, 4)))


def regression() -> dict[str, Any]:
    import torch

    target = torch.rand(32)
    return dict(preds=target + 0.1 * torch.rand(32), target=target)


def vectors() -> dict[str, Any]:
    import torch

    return dict(preds=torch.randn(8, 4), target=torch.randn(8, 4))


def distributions() -> dict[str, Any]:
    import torch

    return dict(p=torch.randn(8, 4).softmax(dim=-1), q=torch.randn(8, 4).softmax(dim=-1))


def images() -> dict[str, Any]:
    import torch

    preds = torch.rand(2, 3, 32, 32)
    return dict(preds=preds, target=0.75 * preds + 0.25 * torch.rand(2, 3, 32, 32))


def image() -> dict[str, Any]:
    import torch

    return dict(img=torch.rand(2, 3, 32, 32))


def audio() -> dict[str, Any]:
    import torch

    target = torch.randn(2, 32)
    return dict(preds=target + 0.1 * torch.randn(2, 32), target=target)


def speakers() -> dict[str, Any]:
    import torch
    from torchmetrics.functional.audio import scale_invariant_signal_noise_ratio

    measure = scale_invariant_signal_noise_ratio
    return dict(preds=torch.randn(2, 2, 16), target=torch.randn(2, 2, 16), metric_func=measure)


def retrieval() -> dict[str, Any]:
    import torch

    return dict(preds=torch.rand(16), target=torch.randint(2, (16,)).bool())


def queries() -> dict[str, Any]:
    import torch

    return dict(**retrieval(), indexes=torch.arange(4).repeat_interleave(4))


def pairwise() -> dict[str, Any]:
    import torch

    return dict(x=torch.randn(8, 4), y=torch.randn(6, 4))


def labels() -> dict[str, Any]:
    import torch

    target = torch.randint(4, (32,))
    return dict(preds=torch.where(torch.rand(32) < 0.6, target, torch.randint(4, (32,))), target=target)


def clusters() -> dict[str, Any]:
    import torch

    return dict(data=torch.randn(16, 3), labels=torch.arange(16) % 3)


def ratings() -> dict[str, Any]:
    import torch

    return dict(ratings=torch.nn.functional.one_hot(torch.randint(4, (8, 10)), 4).sum(dim=1))


def values() -> dict[str, Any]:
    import torch

    return dict(value=torch.randn(16))


Inputs = Callable[[], dict[str, Any]]
FIVE = dict(num_classes=5)
FOUR = dict(num_labels=4)

TABLE: dict[str, dict[str, tuple[Inputs, Mapping[str, Any]]]] = {
    "torchmetrics.functional.classification": {
        "binary_accuracy": (binary, {}),
        "binary_auroc": (binary, {}),
        "binary_average_precision": (binary, {}),
        "binary_calibration_error": (binary, {}),
        "binary_cohen_kappa": (binary, {}),
        "binary_confusion_matrix": (binary, {}),
        "binary_f1_score": (binary, {}),
        "binary_hinge_loss": (binary, {}),
        "binary_matthews_corrcoef": (binary, {}),
        "binary_precision": (binary, {}),
        "binary_roc": (binary, {}),
        "binary_stat_scores": (binary, {}),
        "multiclass_accuracy": (multiclass, FIVE),
        "multiclass_auroc": (multiclass, FIVE),
        "multiclass_calibration_error": (multiclass, FIVE),
        "multiclass_cohen_kappa": (multiclass, FIVE),
        "multiclass_fbeta_score": (multiclass, dict(beta=2.0, num_classes=5)),
        "multiclass_hamming_distance": (multiclass, FIVE),
        "multiclass_hinge_loss": (multiclass, FIVE),
        "multiclass_jaccard_index": (multiclass, FIVE),
        "multiclass_precision_recall_curve": (multiclass, FIVE),
        "multiclass_recall": (multiclass, FIVE),
        "multiclass_specificity": (multiclass, FIVE),
        "multilabel_accuracy": (multilabel, FOUR),
        "multilabel_auroc": (multilabel, FOUR),
        "multilabel_average_precision": (multilabel, FOUR),
        "multilabel_confusion_matrix": (multilabel, FOUR),
        "multilabel_coverage_error": (multilabel, FOUR),
        "multilabel_exact_match": (multilabel, FOUR),
        "multilabel_f1_score": (multilabel, FOUR),
        "multilabel_ranking_loss": (multilabel, FOUR),
    },
    "torchmetrics.functional.regression": {
        "concordance_corrcoef": (regression, {}),
        "cosine_similarity": (vectors, {}),
        "explained_variance": (regression, {}),
        "kendall_rank_corrcoef": (regression, {}),
        "kl_divergence": (distributions, {}),
        "log_cosh_error": (regression, {}),
        "mean_absolute_percentage_error": (regression, {}),
        "mean_squared_error": (regression, {}),
        "mean_squared_log_error": (regression, {}),
        "pearson_corrcoef": (regression, {}),
        "r2_score": (regression, {}),
        "spearman_corrcoef": (regression, {}),
    },
    "torchmetrics.functional.image": {
        "error_relative_global_dimensionless_synthesis": (images, {}),
        "image_gradients": (image, {}),
        "peak_signal_noise_ratio": (images, {}),
        "spectral_angle_mapper": (images, {}),
        "structural_similarity_index_measure": (images, {}),
        "total_variation": (image, {}),
        "universal_image_quality_index": (images, {}),
    },
    "torchmetrics.functional.audio": {
        "permutation_invariant_training": (speakers, {}),
        "scale_invariant_signal_distortion_ratio": (audio, {}),
        "signal_noise_ratio": (audio, {}),
    },
    "torchmetrics.functional.retrieval": {
        "retrieval_average_precision": (retrieval, {}),
        "retrieval_hit_rate": (retrieval, {}),
        "retrieval_normalized_dcg": (retrieval, {}),
        "retrieval_reciprocal_rank": (retrieval, {}),
    },
    "torchmetrics.functional.pairwise": {
        "pairwise_cosine_similarity": (pairwise, {}),
        "pairwise_euclidean_distance": (pairwise, {}),
        "pairwise_manhattan_distance": (pairwise, {}),
    },
    "torchmetrics.functional.clustering": {
        "adjusted_rand_score": (labels, {}),
        "davies_bouldin_score": (clusters, {}),
        "mutual_info_score": (labels, {}),
    },
    "torchmetrics.functional.nominal": {
        "cramers_v": (labels, {}),
        "fleiss_kappa": (ratings, {}),
        "theils_u": (labels, {}),
    },
    "torchmetrics": {
        "Accuracy": (multiclass, dict(task="multiclass", num_classes=5)),
        "AUROC": (binary, dict(task="binary")),
        "CalibrationError": (binary, dict(task="binary")),
        "ConfusionMatrix": (multiclass, dict(task="multiclass", num_classes=5)),
        "F1Score": (multilabel, dict(task="multilabel", num_labels=4)),
        "MeanMetric": (values, {}),
        "MeanSquaredError": (regression, {}),
        "PearsonCorrCoef": (regression, {}),
        "R2Score": (regression, {}),
        "SpearmanCorrCoef": (regression, {}),
    },
    "torchmetrics.image": {
        "PeakSignalNoiseRatio": (images, {}),
        "StructuralSimilarityIndexMeasure": (images, {}),
    },
    "torchmetrics.retrieval": {
        "RetrievalMAP": (queries, {}),
    },
}


def entry(module: str, name: str, inputs: Inputs, settings: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """A function takes its settings with every call, a class when it is made."""
    from importlib import import_module

    import torch
    from without_kernels import without_kernels

    without_kernels()

    torch.manual_seed(0)
    found = getattr(import_module(module), name)
    if isinstance(found, type):
        return found(**settings).eval(), [tuple(inputs().values()) for _ in range(2)]
    found(**inputs(), **settings)  # some look installed packages up in their first call, which torch.compile refuses
    return found, [{**inputs(), **settings} for _ in range(2)]


MODELS = {
    name if ".functional." in module else f"metric_{name.lower()}": partial(entry, module, name, inputs, settings)
    for module, members in TABLE.items()
    for name, (inputs, settings) in members.items()
}

for name, constructor in MODELS.items():
    globals()[f"graphmend_entry_{name}"] = constructor
