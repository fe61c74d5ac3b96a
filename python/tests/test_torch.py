"""Operators of PyTorch: gradients, compilation, padding, threads, refusals."""

import io
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import burn_rank  # noqa: E402
import burn_rank.torch as rank  # noqa: E402

NAMES = list(burn_rank.losses())
DIFFERENTIABLE = [
    name
    for name, entry in burn_rank.losses().items()
    if not entry.stochastic and name not in ("lambda_loss", "lambda_measure", "lambda_ndcg")
]

#: Parameters of losses that need some for grades: gains from 0 to 1.
FOR_GRADES = {"binary_cross_entropy": {"gain": {"table": [0.0, 0.5, 1.0]}}}


def batch(dtype=torch.float64):
    random = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 6, generator=random, dtype=dtype)
    labels = torch.tensor([[2, 0, 1, 0, 1, 0], [0, 1, 0, 0, -1, -1], [2, 2, 0, 1, 0, -1]])
    return scores.requires_grad_(), labels


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_an_operator_is_the_loss(name, dtype):
    scores, labels = batch(dtype)
    given = FOR_GRADES.get(name, {})
    losses = getattr(rank, name)(scores, labels, reduction="none", **given)
    (gradient,) = torch.autograd.grad(losses.sum(), scores)
    mask = (labels != -1).numpy()
    values, expected = burn_rank.loss(name, scores.detach().numpy(), labels.numpy(), mask, reduction="none", **given)
    assert losses.dtype == gradient.dtype == dtype
    assert (losses.detach().numpy() == values).all() and (gradient.numpy() == expected).all()
    assert not gradient[labels == -1].any()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_differences(name):
    scores, labels = batch()
    # A temperature in spreads holds the spread of each list for the gradient.
    given = {"temperature_unit": "score"} if "temperature_unit" in burn_rank.losses()[name].parameters else {}

    given |= FOR_GRADES.get(name, {})

    def losses(scores):
        return rank.loss(name, scores, labels, reduction="none", **given)

    assert torch.autograd.gradcheck(losses, scores, eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_operators_keep_the_rules_of_torch(name):
    scores, labels = batch()
    mask = labels != -1
    operator = getattr(torch.ops.burn_rank, name)
    for gradient in (True, False):
        given = scores if gradient else scores.detach()
        parameters = json.dumps(FOR_GRADES.get(name, {}))
        torch.library.opcheck(operator, (given, labels.double(), mask, parameters, None, gradient))


def test_unit_gradients_are_weighed_after_they_are_divided():
    scores, labels = batch()
    weights = torch.tensor([3.0, 0.5, 2.0], dtype=torch.float64)
    losses = rank.approx_ndcg(scores, labels, reduction="none", query_gradients="unit")
    assert (losses == rank.approx_ndcg(scores, labels, reduction="none")).all()
    (losses * weights).sum().backward()
    torch.testing.assert_close(scores.grad.norm(dim=1), weights, rtol=0, atol=1e-12)


def test_reductions_and_weights_of_lists():
    scores, labels = batch()
    each = rank.approx_ndcg(scores, labels, reduction="none")
    assert each.shape == (3,)
    torch.testing.assert_close(rank.approx_ndcg(scores, labels), each.mean())
    torch.testing.assert_close(rank.approx_ndcg(scores, labels, reduction="sum"), each.sum())
    weights = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)
    (weighted,) = torch.autograd.grad((each * weights).sum(), scores)
    (plain,) = torch.autograd.grad(rank.approx_ndcg(scores, labels, reduction="sum"), scores)
    torch.testing.assert_close(weighted, plain * weights[:, None])


def test_one_list():
    scores, labels = batch()
    one = rank.list_net(scores[0], labels[0], reduction="none")
    assert one.shape == () and one == rank.list_net(scores[:1], labels[:1])
    (gradient,) = torch.autograd.grad(one, scores)
    assert gradient[0].any() and not gradient[1:].any()


def test_parameters_and_cells():
    scores, labels = batch()
    first = rank.approx_ndcg(scores, labels, alpha=3.0, k=2)
    assert first == rank.loss("approx_ndcg", scores, labels, alpha=3.0, k=2) != rank.approx_ndcg(scores, labels)
    cell = rank.loss("ndcg@2:expected_ranks", scores, labels)
    assert cell == rank.relaxed_measure(scores, labels, measure="ndcg", relaxation="expected_ranks", k=2)
    assert "alpha" in str(__import__("inspect").signature(rank.approx_ndcg))


def test_padding_is_label_minus_one_or_the_mask():
    scores, labels = batch()
    expected = rank.approx_ndcg(scores, labels)
    padded = scores.detach().clone()
    padded[labels == -1] = float("nan")
    assert rank.approx_ndcg(padded, labels) == expected
    assert rank.approx_ndcg(padded, labels.clamp(min=0), labels != -1) == expected
    with pytest.raises(ValueError, match="label -1, expected a whole number"):
        rank.approx_ndcg(scores, labels, torch.ones_like(labels, dtype=torch.bool))


@pytest.mark.parametrize("name", NAMES)
def test_flat_scores_with_lengths_are_padded_lists(name):
    scores, labels = batch()
    mask = labels != -1
    flat = scores.detach()[mask].requires_grad_()
    lengths = [6, 4, 5]
    for given in (lengths, torch.tensor(lengths)):
        of_loss = {"reduction": "none", **FOR_GRADES.get(name, {})}
        found = rank.loss(name, flat, labels[mask], lengths=given, **of_loss)
        expected = rank.loss(name, scores, labels, **of_loss)
        torch.testing.assert_close(found, expected)
        (of_flat,) = torch.autograd.grad(found.sum(), flat)
        (of_lists,) = torch.autograd.grad(expected.sum(), scores)
        torch.testing.assert_close(of_flat, of_lists[mask])
    module = rank.Loss(name, **FOR_GRADES.get(name, {})).eval()
    torch.testing.assert_close(module(flat, labels[mask], lengths=lengths), module(scores, labels))


@pytest.mark.parametrize(
    "lengths, message",
    [
        ([2, 0, 3], "query 2: 0 documents, expected one or more"),
        ([2, 4], r"query 2 ends beyond the scores, which are \[5\]"),
        ([2, 1], r"2 of \[5\] scores are left over after query 2"),
        ([], "no query"),
    ],
)
def test_lengths_that_do_not_add_up_are_refused_with_the_query(lengths, message):
    with pytest.raises(ValueError, match=message):
        rank.list_net(torch.zeros(5), torch.zeros(5), lengths=lengths)


def test_memory_in_any_order():
    scores, labels = batch()
    expected = rank.approx_ndcg(scores, labels)
    wide = torch.zeros(3, 12, dtype=torch.float64)
    wide[:, ::2] = scores.detach()
    strided = [scores.detach().t().contiguous().t(), wide[:, ::2], torch._neg_view(-scores.detach())]
    for view in strided:
        view.requires_grad_()
        found = rank.approx_ndcg(view, labels.t().contiguous().t())
        assert found == expected
        (gradient,) = torch.autograd.grad(found, view)
        torch.testing.assert_close(gradient, torch.autograd.grad(rank.approx_ndcg(scores, labels), scores)[0])


def test_no_gradient_is_computed_where_none_is_asked_for():
    scores, labels = batch()
    with torch.no_grad():
        assert not rank.approx_ndcg(scores, labels).requires_grad
    losses, gradient = torch.ops.burn_rank.approx_ndcg(scores, labels.double(), labels != -1, "{}", None, False)
    assert gradient.numel() == 0
    with pytest.raises(RuntimeError, match="approx_ndcg: found a backward pass, expected none"):
        losses.sum().backward()


@pytest.mark.parametrize("name", ["approx_ndcg", "list_net"])
def test_second_derivatives_are_refused_by_name(name):
    scores, labels = batch()
    (gradient,) = torch.autograd.grad(rank.loss(name, scores, labels), scores, create_graph=True)
    with pytest.raises(NotImplementedError, match=f"{name}: found a second derivative, expected the first"):
        torch.autograd.grad(gradient.square().sum(), scores)


def test_a_compiled_function_has_one_graph_and_the_same_numbers():
    scores, labels = batch()
    linear = torch.nn.Linear(4, 1).double()
    features = torch.randn(3, 6, 4, dtype=torch.float64)

    def step(features, labels):
        return rank.approx_ndcg(linear(features).squeeze(2), labels, alpha=5.0)

    compiled = torch.compile(step, fullgraph=True)
    for width in (6, 5, 4):
        expected = step(features[:, :width], labels[:, :width])
        found = compiled(features[:, :width], labels[:, :width])
        torch.testing.assert_close(found, expected)
        (of_found,) = torch.autograd.grad(found, linear.weight)
        torch.testing.assert_close(of_found, torch.autograd.grad(expected, linear.weight)[0])
    explained = torch._dynamo.explain(step)(features, labels)
    assert explained.graph_break_count == 0


def test_a_compiled_module():
    scores, labels = batch()
    for name in ["soft_ndcg", "plackett_luce_ndcg", "ap:rank_indicators"]:
        module, same = rank.Loss(name), rank.Loss(name)
        compiled = torch.compile(module, fullgraph=True)
        for _ in range(3):
            torch.testing.assert_close(compiled(scores, labels), same(scores, labels))


def test_noise_is_drawn_anew_by_number():
    scores, labels = batch()
    first, again, other = (rank.plackett_luce_ndcg(scores, labels, draw=draw) for draw in (1, 1, 2))
    assert first == again != other
    fixed = rank.plackett_luce_ndcg(scores, labels)
    assert fixed == rank.plackett_luce_ndcg(scores, labels) != rank.plackett_luce_ndcg(scores, labels, seed=7)
    with pytest.raises(ValueError, match="approx_ndcg: draw = 1: expected None, no random numbers are drawn"):
        rank.approx_ndcg(scores, labels, draw=1)
    module = rank.Loss("plackett_luce_ndcg")
    values = [module(scores, labels).item() for _ in range(3)]
    assert len(set(values)) == 3 and module.draws == 3
    module.eval()
    assert module(scores, labels) == fixed and module.draws == 3
    # A saved state goes on with the next draw.
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    restored = rank.Loss("plackett_luce_ndcg")
    restored.load_state_dict(torch.load(file))
    assert restored(scores, labels) == module.train()(scores, labels)
    assert repr(rank.Loss("approx_ndcg", alpha=2.0)) == "Loss('approx_ndcg', reduction='mean', alpha=2.0)"


def test_threads_are_torch_s():
    # In a process of its own, since threads of pools stay.
    import subprocess
    import sys

    text = """
import os, torch, burn_rank, burn_rank.torch as rank
def pool():
    names = [open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")]
    return sum(name.startswith("burn-rank-") for name in names)
def call():
    rank.soft_ndcg(torch.randn(8, 60), torch.randint(0, 3, (8, 60)))
torch.set_num_threads(1); call(); print(pool())
torch.set_num_threads(3); call(); print(pool())
burn_rank.set_num_threads(2); call(); print(pool())
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # One; one and three; one, three and two.
    assert done.stdout.split() == ["1", "4", "6"]


def test_workers_of_a_data_loader_go_on():
    class Lists(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, at):
            # A worker that computes, too.
            return burn_rank.loss("list_net", np.array([0.0, float(at)]), np.array([0, 1]))[0]

    rank.soft_ndcg(*batch())
    loader = torch.utils.data.DataLoader(Lists(), num_workers=2, multiprocessing_context="fork", timeout=60)
    assert len(list(loader)) == 6


def test_a_model_learns():
    torch.manual_seed(0)
    features = torch.randn(32, 10, 4)
    labels = (features[..., 0] + 0.2 * torch.randn(32, 10)).gt(0.5).long()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    values = []
    for _ in range(30):
        value = rank.approx_ndcg(model(features).squeeze(2), labels)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert values[-1] < 0.6 * values[0]


S, L = torch.zeros(2, 3), torch.tensor([[0, 1, 2], [1, 0, 0]])
REFUSED = {
    "half": ((S.half(), L), {}, TypeError, "scores are torch.float16, expected torch.float32 or torch.float64"),
    "bfloat": ((S.bfloat16(), L), {}, TypeError, "scores are torch.bfloat16, expected torch.float32 or"),
    "device": ((S.to("meta"), L), {}, ValueError, "approx_ndcg: scores are on meta, expected the CPU"),
    "device of labels": ((S, L.to("meta")), {}, ValueError, "approx_ndcg: labels are on meta, expected the CPU"),
    "three dimensions": ((S[None], L[None]), {}, ValueError, "scores are [1, 2, 3], expected [batch, documents]"),
    "labels": ((S, L[:, :2]), {}, ValueError, "labels are [2, 2], scores [2, 3]"),
    "labels of lists": ((S[0], L), {}, ValueError, "labels are [2, 3], scores [3]"),
    "complex": ((S, L.cfloat()), {}, TypeError, "labels are torch.complex64, expected real or whole numbers"),
    "mask": ((S, L, L), {}, TypeError, "mask is torch.int64, expected torch.bool"),
    "shape of the mask": ((S, L, (L > -1)[:1]), {}, ValueError, "mask is [1, 3], scores [2, 3]"),
    "sparse": ((S.to_sparse(), L), {}, TypeError, "scores are torch.sparse_coo, expected torch.strided"),
    "NaN": ((S * float("nan"), L), {}, ValueError, "query 1, document 1: score NaN, expected a finite number"),
    "label": ((S, L + 0.5), {}, ValueError, "query 1, document 1: label 0.5, expected a whole number from 0 to 30"),
    "no documents": ((S[:, :0], L[:, :0]), {}, ValueError, "expected one query of one document or more"),
    "parameter": ((S, L), {"alhpa": 1}, ValueError, "approx_ndcg: unknown parameter `alhpa`, expected one of `alpha`, "),
    "reduction": ((S, L), {"reduction": "max"}, ValueError, "reduction: found 'max'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    arguments, parameters, kind, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        rank.approx_ndcg(*arguments, **parameters)
    assert message in str(caught.value)


def test_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean `approx_ndcg`?"):
        rank.loss("aprox_ndcg", S, L)
    with pytest.raises(ValueError, match="did you mean `rank_indicators`?"):
        rank.Loss("ap:rank_indicator")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_tensors_of_a_gpu_are_refused():
    with pytest.raises(ValueError, match="approx_ndcg: scores are on cuda:0, expected the CPU"):
        rank.approx_ndcg(S.cuda(), L.cuda())
    with pytest.raises(ValueError, match="approx_ndcg: scores are on cuda:0, expected the CPU"):
        torch.ops.burn_rank.approx_ndcg(S.cuda(), L.float().cuda(), (L > -1).cuda(), "{}", None, True)
