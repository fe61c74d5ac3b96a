"""Learning to rank: direct optimization of NDCG, MAP and MRR.

``load(path).predict(X, query_sizes)`` scores documents, ``evaluate`` computes exact measures, ``loss`` a loss and its
gradient, ``train`` runs a configuration. ``burn_rank.torch`` has every loss as an operator of PyTorch, and
``burn_rank.estimator`` an estimator in scikit-learn's manner. The command ``burn-rank`` comes with the package.

Arrays are numpy's. Features and scores are ``float32`` in C order and read where they lie; an array that does not fit is
refused by its name and never converted unseen. Labels and sizes of queries may have any real or whole dtype.
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
    """Reads a saved ranker, or the one in the folder of a run.

    ``OSError`` for a file that cannot be read; ``ValueError`` for one that is no ranker, is damaged, or was written by a
    newer version.
    """
    return Ranker.load(path)


def _restore(bytes):
    """A pickled ranker."""
    return Ranker.from_bytes(bytes)
