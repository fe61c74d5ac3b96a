"""Every loss for the trainer of cross-encoders in sentence-transformers, releases 5 and 6.

    from burn_rank.sentence_transformers import RankingLoss
    from sentence_transformers.cross_encoder import CrossEncoder, CrossEncoderTrainer

    model = CrossEncoder("microsoft/MiniLM-L12-H384-uncased", num_labels=1)
    loss = RankingLoss(model, "approx_ndcg", k=10, mini_batch_size=16)
    CrossEncoderTrainer(model=model, train_dataset=dataset, loss=loss).train()

A row of the data is a query, a list of documents and a list of labels. The lists may have any lengths, and no tensor
has a place for each pair of documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ._burn_rank import __version__
from ._losses import losses
from .torch import Loss, loss

_CITATION = f"""
@software{{burn_rank,
    title={{burn-rank: learning to rank on burn}},
    author={{{{The burn-rank developers}}}},
    version={{{__version__}}},
    year={{2026}},
    note={{Pre-release. State the commit that you used.}}
}}
"""


class RankingLoss(torch.nn.Module):
    """A loss of burn-rank as a loss of sentence-transformers' ``CrossEncoderTrainer``.

    ``model`` is a ``CrossEncoder`` with one output. ``name`` is any name of :func:`burn_rank.losses`, or a measure and
    a relaxation as in ``"ap:rank_indicators"``. ``k`` is the cut-off of losses that have one, and ``parameters`` are all
    others that differ from the defaults. ``mini_batch_size`` is the number of (query, document) pairs that the model
    reads at a time: as many as the batch has queries by default, and all pairs of the batch if it is 0, as in the
    library's own losses.

    ``teacher=True`` says that the labels are the scores of a teacher, which may be any finite numbers. Losses that read
    grades, such as ``approx_ndcg``, are refused then.

    Scores are the logits of the model, never squashed, so large scores keep their order. They are computed in
    ``float32`` on the CPU, whatever the type and the device of the model: each step copies a number per document from
    the device and its gradient back. A loss that draws random numbers draws new ones in each training step.

    Raises ``ValueError`` for a model with several outputs, and for unknown names and parameters.
    """

    def __init__(
        self,
        model: Any,
        name: str = "approx_ndcg",
        *,
        k: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        mini_batch_size: int | None = None,
        teacher: bool = False,
    ) -> None:
        super().__init__()
        if model.num_labels != 1:
            raise ValueError(f"model: found {model.num_labels} outputs, expected 1 (num_labels=1)")
        given = dict(parameters or {})
        if k is not None:
            if "k" in given:
                raise ValueError("k: found in parameters too, expected it once")
            given["k"] = k
        self.model = model
        self.loss = Loss(name, **given)
        self.name, self.given, self.mini_batch_size, self.teacher = name, given, mini_batch_size, teacher
        if teacher:
            _check_reads_teacher(name, given)

    def forward(
        self,
        inputs: Sequence[Any],
        labels: Sequence[Tensor],
        prompt: str | None = None,
        task: str | None = None,
    ) -> Tensor:
        """Computes the mean loss of a batch of queries.

        ``inputs`` are the queries and, for each query, its list of documents. ``labels`` has a tensor for each query
        with a label for each of its documents.
        """
        if isinstance(labels, Tensor):
            raise ValueError("labels: found one label for each query, expected a list of labels for each query")
        if len(inputs) != 2:
            raise ValueError(f"inputs: found {len(inputs)} columns, expected 2: a query and a list of documents")
        queries, documents = inputs
        lengths = [len(of) for of in documents]
        for number, (found, expected) in enumerate(zip([len(of) for of in labels], lengths, strict=True), 1):
            if found != expected:
                raise ValueError(f"query {number}: {found} labels, {expected} documents")
        pairs = [[query, document] for query, of in zip(queries, documents, strict=True) for document in of]
        size = len(queries) if self.mini_batch_size is None else self.mini_batch_size
        size = size if size > 0 else len(pairs)
        logits = [self._logits(pairs[start : start + size], prompt, task) for start in range(0, len(pairs), size)]
        scores = torch.cat(logits).float().cpu()
        flat = torch.cat([of.detach().cpu().to(scores.dtype) for of in labels])
        # The trainer switches only the model to evaluation.
        self.loss.train(self.training and self.model.training)
        return self.loss(scores, flat, lengths=lengths).to(logits[0].device)

    def _logits(self, pairs: list[list[str]], prompt: str | None, task: str | None) -> Tensor:
        """Returns the logits of some (query, document) pairs, one for each."""
        if hasattr(self.model, "preprocess"):
            tokens = self.model.preprocess(pairs, prompt=prompt, task=task)
            tokens = {key: _moved(value, self.model.device) for key, value in tokens.items()}
            return self.model(tokens)["scores"].view(-1)
        tokens = self.model.tokenizer(pairs, padding=True, truncation=True, return_tensors="pt")
        return self.model(**tokens.to(self.model.device))[0].view(-1)

    def get_config_dict(self) -> dict[str, Any]:
        """Returns the settings that a model card lists."""
        return {
            "name": self.name,
            "parameters": self.given,
            "mini_batch_size": self.mini_batch_size,
            "teacher": self.teacher,
        }

    @property
    def citation(self) -> str:
        """The citation for a model card."""
        return _CITATION

    def extra_repr(self) -> str:
        return ", ".join(f"{key}={value!r}" for key, value in self.get_config_dict().items())


def _moved(value: Any, device: Any) -> Any:
    return value.to(device) if isinstance(value, Tensor) else value


def _check_reads_teacher(name: str, parameters: Mapping[str, Any]) -> None:
    """Rejects a loss that does not accept any finite number as a label."""
    try:
        loss(name, torch.zeros(2), torch.tensor([0.25, -0.5]), torch.ones(2, dtype=torch.bool), **parameters)
    except ValueError as error:
        fits = ", ".join(each for each in ("list_net", "rank_net", "teacher_kl", "margin_mse") if each in losses())
        raise ValueError(f"teacher: `{name}` does not read a teacher's scores ({error}), expected such as {fits}") from error


__all__ = ["RankingLoss"]
