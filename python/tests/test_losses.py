"""Losses: the bytes of the command, gradients, shapes, refusals."""

import json

import burn_rank
import numpy as np
import pytest

#: A list in which every loss has something to learn.
SCORES = [0.5, 1.25, -0.25, 2.0, 0.125]
LABELS = [2.0, 0.0, 1.0, 0.0, 1.0]

#: Parameters of losses that need some for grades: gains from 0 to 1.
FOR_GRADES = {"binary_cross_entropy": {"gain": {"table": [0.0, 0.5, 1.0]}}}


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("name", [*burn_rank.losses(), "ap:rank_indicators", "ndcg@2:expected_ranks"])
def test_value_and_gradient_are_the_bytes_of_the_command(name, precision, explained):
    dtype = {"f32": np.float32, "f64": np.float64}[precision]
    scores, labels = np.array(SCORES, dtype), np.array(LABELS, dtype)
    given = FOR_GRADES.get(name, {})
    (expected,) = explained(name, [(SCORES, LABELS)], precision, **given)
    value, gradient = burn_rank.loss(name, scores, labels, **given)
    assert value == expected["loss"]
    assert gradient.dtype == dtype and gradient.tolist() == expected["grad"]


def test_parameters_are_those_of_the_command(explained):
    parameters = {"alpha": 3.0, "k": 2, "gain": {"table": [0.0, 1.0, 5.0]}}
    (expected,) = explained("approx_ndcg", [(SCORES, LABELS)], "f64", **parameters)
    value, gradient = burn_rank.loss("approx_ndcg", np.array(SCORES), np.array(LABELS), **parameters)
    assert value == expected["loss"] and gradient.tolist() == expected["grad"]
    # Numbers of numpy are numbers.
    again, _ = burn_rank.loss(
        "approx_ndcg", np.array(SCORES), np.array(LABELS), **(parameters | {"alpha": np.float32(3), "k": np.int64(2)})
    )
    assert again == value


@pytest.mark.parametrize("name", burn_rank.losses())
def test_a_batch_is_its_lists_whatever_stands_in_the_padding(name, explained):
    random = np.random.default_rng(3)
    lengths = [7, 2, 5]
    scores, labels = random.normal(size=(3, 7)), random.integers(0, 3, (3, 7)).astype(float)
    labels[:, :2] = [0.0, 2.0]
    mask = np.arange(7) < np.array(lengths)[:, None]
    lists = [(list(s[:n]), list(y[:n])) for s, y, n in zip(scores, labels, lengths)]
    expected = explained(name, lists, "f64", **FOR_GRADES.get(name, {}))
    scores[~mask], labels[~mask] = np.nan, -1
    values, gradient = burn_rank.loss(name, scores, labels, mask, reduction="none", **FOR_GRADES.get(name, {}))
    # A quadrature has as many nodes as the longest list of the batch asks for.
    close = {"rel": 1e-6, "abs": 1e-7} if name in ("soft_err", "soft_rr") else {"rel": 1e-12, "abs": 1e-14}
    for row, length in enumerate(lengths):
        assert values[row] == pytest.approx(expected[row]["loss"], **close)
        assert gradient[row, :length] == pytest.approx(expected[row]["grad"], **close)
        assert not gradient[row, length:].any()


def test_reductions():
    random = np.random.default_rng(0)
    scores, labels = random.normal(size=(4, 6)).astype(np.float32), random.integers(0, 3, (4, 6))
    each, of_each = burn_rank.loss("list_net", scores, labels, reduction="none")
    total, of_total = burn_rank.loss("list_net", scores, labels, reduction="sum")
    mean, of_mean = burn_rank.loss("list_net", scores, labels)
    assert each.shape == (4,) and each.dtype == np.float32
    assert total == pytest.approx(each.sum()) and mean == pytest.approx(each.mean())
    assert (of_each == of_total).all() and of_mean == pytest.approx(of_total / 4)


@pytest.mark.parametrize("name", [name for name, entry in burn_rank.losses().items() if not entry.stochastic])
def test_gradients_are_differences(name):
    if name in NOT_DIFFERENCES:
        pytest.skip(NOT_DIFFERENCES[name])
    scores, labels = np.array(SCORES), np.array(LABELS)
    # A temperature in spreads holds the spread of the list for the gradient.
    given = {"temperature_unit": "score"} if "temperature_unit" in burn_rank.losses()[name].parameters else {}
    given |= FOR_GRADES.get(name, {})
    _, gradient = burn_rank.loss(name, scores, labels, **given)
    step = 1e-5
    for document in range(len(scores)):
        moved = [scores.copy(), scores.copy()]
        moved[0][document] += step
        moved[1][document] -= step
        up, down = (burn_rank.loss(name, at, labels, **given)[0] for at in moved)
        assert gradient[document] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-7)


IN_SPREADS = [name for name, entry in burn_rank.losses().items() if entry.parameters.get("temperature_unit") == "spread"]


@pytest.mark.parametrize("name", IN_SPREADS)
def test_a_temperature_in_spreads_does_not_depend_on_the_scale_of_scores(name):
    scores, labels = np.array(SCORES), np.array(LABELS)
    value, gradient = burn_rank.loss(name, scores, labels)
    of_scaled, gradient_of_scaled = burn_rank.loss(name, 4 * scores + 3, labels)
    assert of_scaled == pytest.approx(value, rel=1e-9)
    assert gradient_of_scaled == pytest.approx(gradient / 4, rel=1e-6, abs=1e-10)


#: Losses with weights that are constants for the gradient.
NOT_DIFFERENCES = dict.fromkeys(
    ["lambda_loss", "lambda_measure", "lambda_ndcg"], "its weights of pairs, ranks of the scores, have no gradient"
)


def test_a_list_with_nothing_to_learn_is_zero():
    value, gradient = burn_rank.loss("approx_ndcg", np.array([1.0, 2.0]), np.array([0, 0]))
    assert value == 0 and not gradient.any()


def test_arguments_are_not_written_to():
    scores, labels = np.array(SCORES, np.float32), np.array(LABELS, np.float32)
    scores.flags.writeable = labels.flags.writeable = False
    burn_rank.loss("approx_ndcg", scores, labels)
    assert scores.tolist() == np.array(SCORES, np.float32).tolist() and labels.tolist() == LABELS


S, L = np.zeros((2, 3), np.float32), np.array([[0, 1, 2], [1, 0, 0]])
REFUSED = {
    "a list": (([[0.0]], L), {}, TypeError, "scores: found list, expected a numpy array"),
    "dtype of scores": ((S.astype(np.float16), L), {}, TypeError, "scores: found dtype float16, expected float32 or"),
    "byte order": ((S.astype(">f4"), L), {}, TypeError, "scores: found dtype >f4, expected float32 or float64"),
    "whole scores": ((L, L), {}, TypeError, "scores: found dtype int64, expected float32 or float64"),
    "Fortran order": ((np.asfortranarray(S), L), {}, ValueError, "scores: found memory in Fortran order, expected C"),
    "gaps": ((np.zeros((2, 6), np.float32)[:, ::2], L), {}, ValueError, "scores: found memory with gaps"),
    "three dimensions": ((S[None], L), {}, ValueError, "scores: found shape (1, 2, 3), expected (batch, documents)"),
    "shape of labels": ((S, L[:, :2]), {}, ValueError, "labels are [2, 2], scores [2, 3]"),
    "labels of one list": ((S[0], L), {}, ValueError, "labels: found shape (2, 3), expected (documents,)"),
    "dtype of labels": ((S, L.astype(complex)), {}, TypeError, "labels: found dtype complex128, expected real or"),
    "texts": ((S, L.astype(str)), {}, TypeError, "labels: found dtype <U21, expected real or whole numbers"),
    "objects": ((S, L.astype(object)), {}, TypeError, "labels: found dtype object, expected real or whole numbers"),
    "shape of the mask": ((S, L, np.ones((2, 2), bool)), {}, ValueError, "mask is [2, 2], scores [2, 3]"),
    "dtype of the mask": ((S, L, np.ones((2, 3))), {}, TypeError, "mask: found dtype float64, expected bool"),
    "order of the mask": ((S, L, np.ones((3, 2), bool).T), {}, ValueError, "mask: found memory in Fortran order"),
    "NaN": ((S + np.float32("nan"), L), {}, ValueError, "query 1, document 1: score NaN, expected a finite number"),
    "infinity": ((S - np.float32("inf"), L), {}, ValueError, "query 1, document 1: score -inf, expected a finite"),
    "NaN label": ((S, L * np.nan), {}, ValueError, "query 1, document 1: label NaN, expected"),
    "label": ((S, -L), {}, ValueError, "query 1, document 2: label -1, expected a whole number from 0 to 30"),
    "no documents": ((S[:, :0], L[:, :0]), {}, ValueError, "scores are [0, 0], expected one query of one document"),
    "no lists": ((S[:0], L[:0]), {}, ValueError, "scores are [0, 3], expected one query of one document or more"),
    "parameter": ((S, L), {"alhpa": 1}, ValueError, "approx_ndcg: unknown parameter `alhpa`, expected one of `alpha`, "),
    "value": ((S, L), {"alpha": -1}, ValueError, "approx_ndcg.alpha = -1: expected a finite number above 0"),
    "infinite value": ((S, L), {"alpha": float("inf")}, ValueError, "parameters: found a number that is not finite"),
    "object": ((S, L), {"alpha": object()}, TypeError, "found object, expected a number, text, list, dict or None"),
    "reduction": ((S, L), {"reduction": "max"}, ValueError, "reduction: found 'max', expected \"mean\", \"sum\" or"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    arguments, parameters, kind, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        burn_rank.loss("approx_ndcg", *arguments, **parameters)
    assert message in str(caught.value)


def test_numbers_that_are_not_aligned_are_refused():
    scores = np.frombuffer(bytes(25), np.uint8)[1:].view(np.float32).reshape(2, 3)
    assert not scores.flags.aligned
    with pytest.raises(ValueError, match="scores: found memory that is not aligned"):
        burn_rank.loss("approx_ndcg", scores, L)


def test_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="unknown loss `aprox_ndcg`, expected .*; did you mean `approx_ndcg`?"):
        burn_rank.loss("aprox_ndcg", S, L)
    with pytest.raises(ValueError, match="k: found in `ndcg@2:expected_ranks` too, expected it once"):
        burn_rank.loss("ndcg@2:expected_ranks", S, L, k=3)


@pytest.mark.parametrize("name", ["approx_ndcg", "list_net", "ap:rank_indicators"])
def test_unit_gradients_have_length_1_unless_they_vanish_and_the_same_value(name):
    value, raw = burn_rank.loss(name, np.array(SCORES), np.array(LABELS))
    same, unit = burn_rank.loss(name, np.array(SCORES), np.array(LABELS), query_gradients="unit")
    assert value == same
    np.testing.assert_allclose(unit, raw / max(np.linalg.norm(raw), 1e-6), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="query_gradients: unknown variant `units`, .*; did you mean `unit`?"):
        burn_rank.loss(name, S, L, query_gradients="units")


def test_the_list_of_losses_is_the_command_s(run):
    listed = [json.loads(line) for line in run("models", "--losses", "--json").stdout.splitlines()]
    listed = [entry for entry in listed if "loss" in entry]
    assert [entry["loss"] for entry in listed] == list(burn_rank.losses())
    assert listed[0]["parameters"] == burn_rank.losses()[listed[0]["loss"]].parameters
    entry = burn_rank.losses()["plackett_luce_ndcg"]
    assert entry.stochastic and entry.parameters["seed"] == 0 and entry.summary
    assert not burn_rank.losses()["approx_ndcg"].stochastic
