import os

from ._burn_rank import Ranker as Ranker
from ._burn_rank import __version__ as __version__
from ._burn_rank import get_num_threads as get_num_threads
from ._burn_rank import set_num_threads as set_num_threads
from ._losses import LossEntry as LossEntry
from ._losses import loss as loss
from ._losses import losses as losses
from ._measures import Evaluation as Evaluation
from ._measures import evaluate as evaluate
from ._train import Run as Run
from ._train import train as train

def load(path: str | os.PathLike[str]) -> Ranker: ...
