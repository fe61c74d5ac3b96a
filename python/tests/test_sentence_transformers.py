"""The loss for sentence-transformers' trainer: with a model that stands in for a cross-encoder, and with the library."""

import importlib.metadata

import pytest

torch = pytest.importorskip("torch")

import burn_rank  # noqa: E402
import burn_rank.torch as rank  # noqa: E402
from burn_rank.sentence_transformers import RankingLoss  # noqa: E402

QUERIES = ["a", "b", "c"]
DOCUMENTS = [["x", "yy", "zzz"], ["x"], ["yy", "z", "www", "vvvv", "u"]]
LABELS = [torch.tensor([0.0, 2.0, 1.0]), torch.tensor([1.0]), torch.tensor([0.0, 1.0, 0.0, 3.0, 0.0])]


class Encoder(torch.nn.Module):
    """Stands in for a cross-encoder of release 6: a score from the lengths of a query and a document."""

    num_labels, device = 1, torch.device("cpu")

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.read = []

    def preprocess(self, pairs, prompt=None, task=None):
        self.read.append((len(pairs), prompt, task))
        return {"features": torch.tensor([[ord(q) - 96.0, float(len(d))] for q, d in pairs]), "text_keys": ["x"]}

    def forward(self, tokens):
        return {"scores": self.layer(tokens["features"])}


class OldEncoder(Encoder):
    """The same for release 5, which has a tokenizer."""

    preprocess = property()

    class Tokens(dict):
        def to(self, device):
            return self

    def tokenizer(self, pairs, **_):
        return self.Tokens(features=torch.tensor([[ord(q) - 96.0, float(len(d))] for q, d in pairs]))

    def forward(self, features):
        return (self.layer(features),)


def expected(model, name, **parameters):
    pairs = [[ord(q) - 96.0, float(len(d))] for q, of in zip(QUERIES, DOCUMENTS) for d in of]
    scores = model.layer(torch.tensor(pairs)).view(-1)
    return rank.loss(name, scores, torch.cat(LABELS), lengths=[3, 1, 5], **parameters)


@pytest.mark.parametrize("encoder", [Encoder, OldEncoder])
@pytest.mark.parametrize("size", [None, 0, 1, 4, 100])
def test_a_batch_of_lists_has_the_loss_of_its_scores(encoder, size):
    torch.manual_seed(0)
    model = encoder()
    loss = RankingLoss(model, "approx_ndcg", k=3, mini_batch_size=size)
    value = loss([QUERIES, DOCUMENTS], LABELS)
    torch.testing.assert_close(value, expected(model, "approx_ndcg", k=3))
    value.backward()
    found = model.layer.weight.grad.clone()
    model.zero_grad()
    expected(model, "approx_ndcg", k=3).backward()
    torch.testing.assert_close(found, model.layer.weight.grad)


def test_pairs_are_read_in_small_batches_with_prompts():
    model = Encoder()
    RankingLoss(model, "list_net", mini_batch_size=4)([QUERIES, DOCUMENTS], LABELS, prompt="p", task="t")
    assert model.read == [(4, "p", "t"), (4, "p", "t"), (1, "p", "t")]


def test_a_loss_that_draws_draws_anew_in_training_only():
    loss = RankingLoss(Encoder(), "stochastic_rank")
    values = {loss([QUERIES, DOCUMENTS], LABELS).item() for _ in range(4)}
    assert len(values) == 4
    # The trainer calls this before an evaluation, and the other one before a step.
    loss.model.eval()
    assert len({loss([QUERIES, DOCUMENTS], LABELS).item() for _ in range(3)}) == 1
    loss.model.train()
    assert loss([QUERIES, DOCUMENTS], LABELS).item() not in values
    loss.eval()
    assert len({loss([QUERIES, DOCUMENTS], LABELS).item() for _ in range(3)}) == 1


def test_the_extra_has_what_the_trainer_needs():
    needed = [of for of in importlib.metadata.requires("burn-rank") if of.startswith("sentence-transformers")]
    assert needed and all(of.startswith("sentence-transformers[train]") for of in needed), needed


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_loss_is_on_the_device_of_the_model():
    model = Encoder().cuda()
    model.device = torch.device("cuda")
    loss = RankingLoss(model, "stochastic_rank").cuda()
    value = loss([QUERIES, DOCUMENTS], LABELS)
    value.backward()
    assert value.device.type == model.layer.weight.grad.device.type == "cuda"


def test_settings_are_for_a_model_card():
    loss = RankingLoss(Encoder(), "rank_net", parameters={"query_gradients": "unit"}, mini_batch_size=8)
    assert loss.get_config_dict() == {
        "name": "rank_net",
        "parameters": {"query_gradients": "unit"},
        "mini_batch_size": 8,
        "teacher": False,
    }
    assert f"version={{{burn_rank.__version__}}}," in loss.citation and "rank_net" in repr(loss)


def test_a_teacher_needs_a_loss_that_reads_any_number():
    scores = [torch.tensor([0.5, -2.0, 1.0]), torch.tensor([1.0]), torch.tensor([0.1, 1.0, -3.0, 3.0, 0.0])]
    for name in ("list_net", "teacher_kl", "margin_mse", "adr_mse"):
        value = RankingLoss(Encoder(), name, teacher=True)([QUERIES, DOCUMENTS], scores)
        assert torch.isfinite(value)
    with pytest.raises(ValueError, match="does not read a teacher's scores"):
        RankingLoss(Encoder(), "approx_ndcg", teacher=True)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="found 3 outputs, expected 1"):
        model = Encoder()
        model.num_labels = 3
        RankingLoss(model, "approx_ndcg")
    with pytest.raises(ValueError, match="approx_ndcg"):
        RankingLoss(Encoder(), "aprox_ndcg")
    with pytest.raises(ValueError, match="k: found in parameters too"):
        RankingLoss(Encoder(), k=3, parameters={"k": 3})
    loss = RankingLoss(Encoder())
    with pytest.raises(ValueError, match="a list of labels for each query"):
        loss([QUERIES, DOCUMENTS], torch.zeros(3))
    with pytest.raises(ValueError, match="found 3 columns"):
        loss([QUERIES, DOCUMENTS, DOCUMENTS], LABELS)
    with pytest.raises(ValueError, match="query 2: 2 labels, 1 documents"):
        loss([QUERIES, DOCUMENTS], [LABELS[0], torch.zeros(2), LABELS[2]])


def test_the_trainer_of_the_library_takes_it(tmp_path):
    pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    datasets = pytest.importorskip("datasets")
    from sentence_transformers.cross_encoder import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcxyzuvw"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, num_labels=1
    )
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    model = CrossEncoder(str(tmp_path / "model"), num_labels=1)
    data = datasets.Dataset.from_dict(
        {"query": QUERIES, "docs": [[" ".join(d) for d in of] for of in DOCUMENTS], "labels": [x.tolist() for x in LABELS]}
    )
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(tmp_path / "out"), max_steps=3, per_device_train_batch_size=3, report_to=[], use_cpu=True
    )
    loss = RankingLoss(model, "approx_ndcg", k=10, mini_batch_size=4)
    result = CrossEncoderTrainer(model=model, args=arguments, train_dataset=data, loss=loss).train()
    assert result.global_step == 3 and 0 < result.training_loss < 1
