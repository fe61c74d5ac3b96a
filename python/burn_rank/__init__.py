"""Learning to rank: direct optimization of NDCG, MAP and MRR.

``load(path).predict(X, query_sizes)`` scores documents, ``evaluate`` computes exact measures, ``loss`` computes a loss
and its gradient, and ``train`` runs a configuration. ``burn_rank.torch`` has every loss as a PyTorch operator, and
``burn_rank.estimator`` has a scikit-learn-style estimator. The package includes the command ``burn-rank``.

Arrays are numpy arrays. Features and scores are ``float32`` in C order, and are read without a copy. Any other array
raises an error that names the argument, and nothing is converted silently. Labels and sizes of queries may have any
real or whole dtype.
"""

from ._burn_rank import Ranker, __version__, get_num_threads, set_num_threads
from ._losses import LossEntry, loss, losses
from ._measures import Evaluation, evaluate
from ._train import Run, train

__all__ = [
    "Evaluation",
    "LossEntry",
    "Ranker",
    "Run",
    "__version__",
    "evaluate",
    "get_num_threads",
    "load",
    "loss",
    "losses",
    "set_num_threads",
    "train",
]


def load(path):
    """Reads a saved ranker, or the ranker in the folder of a run.

    Raises ``OSError`` if the file cannot be read, and ``ValueError`` if it is not a ranker, is damaged, or was written
    by a newer version.
    """
    return Ranker.load(path)


def _restore(bytes):
    """Restores a pickled ranker from its bytes."""
    return Ranker.from_bytes(bytes)
