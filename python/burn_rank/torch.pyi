from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ._losses import Reduction

PADDING: int

class Loss(torch.nn.Module):
    name: str
    reduction: Reduction
    draws: Tensor | None
    def __init__(self, name: str, *, reduction: Reduction = "mean", **parameters: Any) -> None: ...
    def forward(
        self,
        scores: Tensor,
        labels: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Sequence[int] | Tensor | None = None,
    ) -> Tensor: ...
    def __call__(
        self,
        scores: Tensor,
        labels: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Sequence[int] | Tensor | None = None,
    ) -> Tensor: ...

def loss(
    name: str,
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    **parameters: Any,
) -> Tensor: ...

# Made: the losses of the registry.

def adr_mse(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    alpha: float = 1.0,
    query_gradients: Any = 'raw',
    temperature_unit: Any = 'score',
) -> Tensor:
    "squared error of smooth ranks against a teacher's ranks"

def approx_ap(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    alpha: float = 20.0,
    beta: float = 10.0,
    query_gradients: Any = 'raw',
    step: Any = 'logistic',
    temperature_unit: Any = 'spread',
) -> Tensor:
    "average precision at approximate positions"

def approx_dcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    alpha: float = 20.0,
    gain: Any = 'exp2',
    query_gradients: Any = 'raw',
    step: Any = 'logistic',
    temperature_unit: Any = 'spread',
) -> Tensor:
    "DCG at approximate positions"

def approx_kendall_tau(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    alpha: float = 20.0,
    query_gradients: Any = 'raw',
    temperature_unit: Any = 'spread',
) -> Tensor:
    "Kendall's tau with a smooth sign"

def approx_ndcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    alpha: float = 20.0,
    beta: float = 10.0,
    gain: Any = 'exp2',
    k: Any = None,
    query_gradients: Any = 'raw',
    step: Any = 'logistic',
    temperature_unit: Any = 'spread',
) -> Tensor:
    "NDCG at approximate positions"

def approx_precision(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    alpha: float = 20.0,
    beta: float = 10.0,
    k: int = 5,
    query_gradients: Any = 'raw',
    step: Any = 'logistic',
    temperature_unit: Any = 'spread',
) -> Tensor:
    "precision at k at approximate positions"

def approx_rr(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    alpha: float = 20.0,
    beta: float = 10.0,
    query_gradients: Any = 'raw',
    step: Any = 'logistic',
    temperature_unit: Any = 'spread',
) -> Tensor:
    "reciprocal rank at approximate positions"

def binary_cross_entropy(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'linear',
    positive_weight: float = 1.0,
    query_gradients: Any = 'raw',
) -> Tensor:
    "cross entropy of each document's relevance and the logistic of its score"

def fidelity(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    mean_over_pairs: bool = False,
    query_gradients: Any = 'raw',
) -> Tensor:
    "fidelity loss over ordered pairs (FRank)"

def lambda_loss(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'exp2',
    k: Any = None,
    mu: float = 10.0,
    query_gradients: Any = 'raw',
    sigma: float = 1.0,
    weights: Any = 'ndcg_loss2_pp',
) -> Tensor:
    "logistic losses weighted to bound NDCG (NDCG-Loss1, 2 and 2++)"

def lambda_measure(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    k: Any = None,
    maximum_grade: int = 4,
    measure: Any = 'ap',
    query_gradients: Any = 'raw',
    query_normalization: bool = False,
    score_normalization: bool = False,
    sigma: float = 1.0,
) -> Tensor:
    "logistic loss weighted by the change of AP, RR, ERR or precision (LambdaRank)"

def lambda_ndcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'exp2',
    k: Any = None,
    query_gradients: Any = 'raw',
    query_normalization: bool = False,
    score_normalization: bool = False,
    sigma: float = 1.0,
    truncation: Any = None,
) -> Tensor:
    "logistic loss weighted by the change of NDCG@k (LambdaRank)"

def list_mle(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    discount: Any = None,
    exponent: float = 1.0,
    k: Any = None,
    query_gradients: Any = 'raw',
    seed: int = 0,
    shuffle_ties: bool = False,
) -> Tensor:
    "negative log likelihood of the labels' order under Plackett-Luce"

def list_net(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    query_gradients: Any = 'raw',
) -> Tensor:
    "cross entropy of the top-one distributions"

def margin_mse(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    query_gradients: Any = 'raw',
) -> Tensor:
    "squared error of score differences against a teacher's"

def mse_gain(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    balanced: bool = False,
    gain: Any = 'exp2',
    query_gradients: Any = 'raw',
) -> Tensor:
    "squared error against the gains"

def neural_ndcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'exp2',
    iterations: int = 50,
    k: Any = None,
    query_gradients: Any = 'raw',
    temperature: float = 1.0,
    temperature_unit: Any = 'score',
    transposed: bool = False,
) -> Tensor:
    "NDCG of documents sorted by NeuralSort"

def pairwise_exponential(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    mean_over_pairs: bool = False,
    query_gradients: Any = 'raw',
) -> Tensor:
    "exponential loss over ordered pairs (RankBoost)"

def pairwise_hinge(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    margin: float = 1.0,
    mean_over_pairs: bool = False,
    query_gradients: Any = 'raw',
) -> Tensor:
    "hinge loss over ordered pairs (RankSVM)"

def pairwise_squared_hinge(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    margin: float = 1.0,
    mean_over_pairs: bool = False,
    query_gradients: Any = 'raw',
) -> Tensor:
    "squared hinge loss over ordered pairs"

def plackett_luce_ndcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'exp2',
    k: Any = None,
    query_gradients: Any = 'raw',
    samples: int = 16,
    seed: int = 0,
) -> Tensor:
    "expected NDCG of rankings drawn from the Plackett-Luce model (PL-Rank-3)"

def rank_net(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    mean_over_pairs: bool = False,
    query_gradients: Any = 'raw',
    sigma: float = 1.0,
) -> Tensor:
    "logistic loss over ordered pairs"

def relaxed_measure(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    alpha: float = 20.0,
    beta: float = 10.0,
    bound: Any = None,
    discount: Any = 'log2',
    exponent: float = 1.0,
    gain: Any = 'exp2',
    gumbel_samples: int = 0,
    k: Any = None,
    measure: Any = 'ndcg',
    query_gradients: Any = 'raw',
    relaxation: Any = 'approximate_positions',
    seed: int = 0,
    step: Any = 'logistic',
    temperature_unit: Any = 'spread',
    **parameters: Any,
) -> Tensor:
    "any measure through any relaxation, by `measure` and `relaxation`"

def smooth_ap_indicator(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    query_gradients: Any = 'raw',
    sigma: float = 0.02,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "average precision with soft indicators of the document at each rank"

def smooth_ap_rank(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    diagonal: float = 1.0,
    query_gradients: Any = 'raw',
    sigma: float = 0.05,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "average precision at sigmoid ranks"

def smooth_dcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'exp2',
    query_gradients: Any = 'raw',
    sigma: float = 0.05,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "DCG at sigmoid ranks"

def smooth_ndcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'exp2',
    k: Any = None,
    query_gradients: Any = 'raw',
    sigma: float = 0.02,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "NDCG with soft indicators of the document at each rank"

def smooth_precision(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    k: int = 5,
    query_gradients: Any = 'raw',
    sigma: float = 0.02,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "precision at k with soft indicators of the document at each rank"

def smooth_rr(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    linear: bool = False,
    query_gradients: Any = 'raw',
    sigma: float = 0.02,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "reciprocal rank with soft indicators of the document at each rank"

def soft_ap(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    model: Any = 'independent',
    query_gradients: Any = 'raw',
    sigma: float = 0.1,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "expectation of average precision under Gaussian scores (SoftRank)"

def soft_dcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    discount: Any = 'log2',
    evaluation: Any = 'auto',
    exponent: float = 1.0,
    gain: Any = 'exp2',
    k: Any = None,
    model: Any = 'independent',
    query_gradients: Any = 'raw',
    sigma: float = 0.1,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "expectation of DCG under Gaussian scores (SoftRank)"

def soft_err(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    maximum_grade: int = 4,
    model: Any = 'exact',
    query_gradients: Any = 'raw',
    sigma: float = 0.1,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "expectation of expected reciprocal rank under Gaussian scores (SoftRank)"

def soft_ndcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    discount: Any = 'log2',
    evaluation: Any = 'auto',
    exponent: float = 1.0,
    gain: Any = 'exp2',
    k: Any = None,
    model: Any = 'independent',
    query_gradients: Any = 'raw',
    sigma: float = 0.1,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "expectation of NDCG under Gaussian scores (SoftRank)"

def soft_precision(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    k: int = 5,
    model: Any = 'independent',
    query_gradients: Any = 'raw',
    sigma: float = 0.1,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "expectation of precision at k under Gaussian scores (SoftRank)"

def soft_rr(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    model: Any = 'exact',
    query_gradients: Any = 'raw',
    sigma: float = 0.1,
    temperature_unit: Any = 'spread',
) -> Tensor:
    "expectation of the reciprocal rank under Gaussian scores (SoftRank)"

def softmax_cross_entropy(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gumbel_samples: int = 0,
    noise_by_row: bool = False,
    normalize: bool = False,
    query_gradients: Any = 'raw',
    seed: int = 0,
    temperature: float = 1.0,
) -> Tensor:
    "cross entropy of labels and softmax of scores, optionally under Gumbel noise"

def stochastic_rank(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'exp2',
    k: Any = None,
    mu: float = 0.0,
    query_gradients: Any = 'raw',
    samples: int = 16,
    seed: int = 0,
    sigma: float = 1.0,
    temperature_unit: Any = 'score',
) -> Tensor:
    "expected NDCG of scores with normal noise, its gradient estimated by coordinates"

def teacher_kl(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    query_gradients: Any = 'raw',
    temperature: float = 1.0,
) -> Tensor:
    "divergence of the scores' softmax from a teacher's"

def teacher_mse(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    query_gradients: Any = 'raw',
) -> Tensor:
    "squared error against the scores of a teacher"

def xe_ndcg(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gamma: Any = None,
    query_gradients: Any = 'raw',
    seed: int = 0,
) -> Tensor:
    "cross entropy of perturbed gains and softmax of scores"

def yeti_loss(
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    gain: Any = 'exp2',
    k: Any = None,
    query_gradients: Any = 'raw',
    samples: int = 16,
    seed: int = 0,
) -> Tensor:
    "RankNet on neighbors of a noisy order, weighted by the change of NDCG"
