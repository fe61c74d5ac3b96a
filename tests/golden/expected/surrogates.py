#!/usr/bin/env python3
"""Writes surrogates.json: every surrogate and baseline in float64, straight from the formulas (no speed, no masks).

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install "jax<0.5" numpy
    /tmp/peers/bin/python tests/golden/expected/surrogates.py 1 > tests/golden/expected/surrogates.json

The argument seeds the scores and labels. Each case: {"loss", "params", "scores", "labels", "value", "grad"}. `value` is
the surrogate measure, of which the loss is `1 - value` or `-value`, and `grad` its derivative with respect to the scores.
"""
import json, sys
import numpy as np
import jax, jax.numpy as jnp
from jax.scipy.special import erf
jax.config.update("jax_enable_x64", True)


def gain_of(y, kind="exp2"):
    return {"exp2": 2.0 ** y - 1, "exp2_raw": 2.0 ** y, "linear": y * 1.0}[kind]


def discount_of(r, kind="log2", exponent=1.0):  # r = 1, 2, ...
    return {"log2": lambda: 1 / jnp.log2(1 + r), "power": lambda: r ** (-exponent)}[kind]()


def ideal(y, k=None, gain="exp2", discount="log2", exponent=1.0):
    n = len(y); r = jnp.arange(1, n + 1.0)
    w = discount_of(r, discount, exponent) * (r <= (k or n))
    return jnp.sum(-jnp.sort(-gain_of(y, gain)) * w)


def hard_rank(s):  # 1-based, descending, ties by input order
    i = jnp.arange(len(s))
    ahead = (s[None, :] > s[:, None]) | ((s[None, :] == s[:, None]) & (i[None, :] < i[:, None]))
    return 1 + ahead.sum(1)


def offdiag(m):
    return m * (1 - jnp.eye(m.shape[0]))


# ---- SoftRank: exact rank distributions -------------------------------------------------------------------------
def beats(s, sigma):  # [k, j] = P(document k beats document j)
    return 0.5 * (1 + erf((s[:, None] - s[None, :]) / (2 * sigma)))


def rank_distribution(s, sigma):  # [j, r], r = 0..n-1
    n = len(s); pi = beats(s, sigma); p = jnp.zeros((n, n)).at[:, 0].set(1.0)
    for k in range(n):
        q = jnp.where(jnp.arange(n) == k, 0.0, pi[k])[:, None]
        p = p * (1 - q) + jnp.pad(p[:, :-1], ((0, 0), (1, 0))) * q
    return p


def soft_ndcg(s, y, sigma=1.0, k=None, gain="exp2", discount="log2", exponent=1.0):
    n = len(s); r = jnp.arange(1, n + 1.0)
    w = discount_of(r, discount, exponent) * (r <= (k or n))
    return jnp.sum(gain_of(y, gain) * (rank_distribution(s, sigma) @ w)) / ideal(y, k, gain, discount, exponent)


# ---- SmoothRank: soft indicators h_ij ------------------------------------------------------------------------------
def indicators(s, sigma):  # [i, j] = "document i is at position j+1"
    o = jnp.argsort(-s, stable=True); sd = s[o]
    return jax.nn.softmax(-((s[:, None] - sd[None, :]) ** 2) / sigma, axis=0)


def smooth_ndcg(s, y, sigma=1.0, k=None, gain="exp2"):
    n = len(s); r = jnp.arange(1, n + 1.0); w = discount_of(r) * (r <= (k or n))
    return gain_of(y, gain) @ indicators(s, sigma) @ w / ideal(y, k, gain)


def smooth_precision(s, y, sigma=1.0, k=5):
    l = (y > 0) * 1.0
    return (l @ indicators(s, sigma))[:k].sum() / k


def smooth_rr(s, y, sigma=1.0):
    l = (y > 0) * 1.0; p = l @ indicators(s, sigma); n = len(s)
    none_before = jnp.concatenate([jnp.ones(1), jnp.cumprod(1 - p)[:-1]])
    return jnp.sum(p * none_before / jnp.arange(1, n + 1.0))


def smooth_ap_indicator(s, y, sigma=1.0):
    l = (y > 0) * 1.0; p = l @ indicators(s, sigma); n = len(s)
    return jnp.sum(p * jnp.cumsum(p) / jnp.arange(1, n + 1.0)) / l.sum()


def smooth_ap_rank(s, y, sigma=1.0, diagonal=1.0):
    l = (y > 0) * 1.0; t = jax.nn.sigmoid((s[None, :] - s[:, None]) / sigma)
    rank = 1 + offdiag(t).sum(1)
    t = offdiag(t) + diagonal * jnp.eye(len(s))
    return jnp.sum(l * (t @ l) / rank) / l.sum()


# ---- Approximate positions -----------------------------------------------------------------------------------------
STEP = {"logistic": jax.nn.sigmoid, "erf": lambda x: 0.5 * (1 + erf(x)),
        "tanh": lambda x: 0.5 * (1 + jnp.tanh(x)), "arctan": lambda x: 0.5 + jnp.arctan(x) / jnp.pi}


def positions(s, alpha, step="logistic"):
    return 1 + offdiag(STEP[step](alpha * (s[None, :] - s[:, None]))).sum(1)


def approx_ndcg(s, y, alpha=10.0, step="logistic", k=None, beta=10.0, gain="exp2"):
    p = positions(s, alpha, step); w = 1 / jnp.log2(1 + p)
    if k:
        w = w * jax.nn.sigmoid(beta * (k + 0.5 - p))
    return jnp.sum(gain_of(y, gain) * w) / ideal(y, k, gain)


def approx_dcg(s, y, alpha=10.0, step="logistic", gain="exp2"):
    return jnp.sum(gain_of(y, gain) / jnp.log2(1 + positions(s, alpha, step)))


def approx_ap(s, y, alpha=10.0, beta=10.0, step="logistic"):
    l = (y > 0) * 1.0; p = positions(s, alpha, step)
    ahead = offdiag(jax.nn.sigmoid(beta * (p[:, None] - p[None, :])))  # [y, x]: x ahead of y
    return jnp.sum(l / p * (1 + ahead @ l)) / l.sum()


def approx_precision(s, y, alpha=10.0, beta=10.0, k=5):
    return jnp.sum((y > 0) * jax.nn.sigmoid(beta * (k + 0.5 - positions(s, alpha)))) / k


def approx_rr(s, y, alpha=10.0, beta=10.0):
    l = (y > 0) * 1.0; p = positions(s, alpha)
    ahead = offdiag(jax.nn.sigmoid(beta * (p[:, None] - p[None, :])))
    return jnp.sum(l / p * jnp.prod(1 - l[None, :] * ahead, axis=1))


def approx_kendall_tau(s, y, alpha=10.0):
    d = jnp.sign(y[:, None] - y[None, :])
    return jnp.sum(d * jnp.tanh(0.5 * alpha * (s[:, None] - s[None, :]))) / jnp.sum(jnp.abs(d))


# ---- Baselines: losses to minimize ---------------------------------------------------------------------------------
def pairs(y):
    return (y[:, None] > y[None, :]) * 1.0


def rank_net(s, y):
    return jnp.sum(pairs(y) * jnp.logaddexp(0.0, -(s[:, None] - s[None, :])))


def pairwise_hinge(s, y):
    return jnp.sum(pairs(y) * jnp.maximum(0, 1 - (s[:, None] - s[None, :])))


def pairwise_squared_hinge(s, y):
    return jnp.sum(pairs(y) * jnp.maximum(0, 1 - (s[:, None] - s[None, :])) ** 2)


def pairwise_exponential(s, y):
    return jnp.sum(pairs(y) * jnp.exp(-(s[:, None] - s[None, :])))


def fidelity(s, y):
    p = jax.nn.sigmoid(s[:, None] - s[None, :])
    return jnp.sum(pairs(y) * (1 - jnp.sqrt(p)))


def lambda_ndcg(s, y, k=None):
    r = hard_rank(s); w = jnp.where(r <= (k or len(s)), 1 / jnp.log2(1.0 + r), 0.0); gg = gain_of(y)
    delta = jnp.abs((gg[:, None] - gg[None, :]) * (w[:, None] - w[None, :])) / ideal(y, k)
    return jnp.sum(pairs(y) * jax.lax.stop_gradient(delta) * jnp.logaddexp(0.0, -(s[:, None] - s[None, :])))


def list_net(s, y):
    return -jnp.sum(jax.nn.softmax(y * 1.0) * jax.nn.log_softmax(s))


def list_mle(s, y):
    o = jnp.argsort(-y, stable=True); t = s[o]
    tail = jax.lax.associative_scan(jnp.logaddexp, t[::-1])[::-1]
    return jnp.sum(tail - t)


def mse_gain(s, y):
    return jnp.mean((s - gain_of(y)) ** 2)


CASES = [
    (soft_ndcg, dict(sigma=0.1)), (soft_ndcg, dict(sigma=1.0)), (soft_ndcg, dict(sigma=0.5, k=5)),
    (soft_ndcg, dict(sigma=0.5, gain="exp2_raw")), (soft_ndcg, dict(sigma=0.5, discount="power", exponent=0.5)),
    (smooth_ndcg, dict(sigma=64.0)), (smooth_ndcg, dict(sigma=1.0)), (smooth_ndcg, dict(sigma=2.0 ** -6)),
    (smooth_ndcg, dict(sigma=0.5, k=5)), (smooth_precision, dict(sigma=0.5, k=5)), (smooth_rr, dict(sigma=0.5)),
    (smooth_ap_indicator, dict(sigma=0.5)), (smooth_ap_rank, dict(sigma=0.5)), (smooth_ap_rank, dict(sigma=0.5, diagonal=0.5)),
    (approx_ndcg, dict(alpha=1.0)), (approx_ndcg, dict(alpha=10.0)), (approx_ndcg, dict(alpha=100.0)),
    (approx_ndcg, dict(alpha=5.0, step="erf")), (approx_ndcg, dict(alpha=5.0, step="tanh")), (approx_ndcg, dict(alpha=5.0, step="arctan")),
    (approx_ndcg, dict(alpha=10.0, k=5, beta=1.0)), (approx_dcg, dict(alpha=2.0)), (approx_ap, dict(alpha=10.0, beta=10.0)),
    (approx_ap, dict(alpha=2.0, beta=1.0)), (approx_precision, dict(alpha=10.0, beta=2.0, k=5)), (approx_rr, dict(alpha=10.0, beta=10.0)),
    (approx_kendall_tau, dict(alpha=3.0)),
    (rank_net, {}), (pairwise_hinge, {}), (pairwise_squared_hinge, {}), (pairwise_exponential, {}), (fidelity, {}),
    (lambda_ndcg, {}), (lambda_ndcg, dict(k=5)), (list_net, {}), (list_mle, {}), (mse_gain, {}),
]


def main(seed):
    rng = np.random.default_rng(seed); out = []
    for n, levels, scale in [(2, 2, 1.0), (5, 2, 1.0), (12, 3, 2.0), (40, 5, 1.0)]:
        s = np.round(rng.normal(size=n) * scale, 4); y = rng.integers(0, levels, size=n).astype(float); y[rng.integers(n)] = levels - 1
        if y.min() == y.max():
            y[int(np.argmin(y == y))] = 0; y[-1] = levels - 1
        for f, p in CASES:
            if p.get("k", 0) > n:
                continue
            v, gr = jax.value_and_grad(lambda x: f(x, jnp.asarray(y), **p))(jnp.asarray(s))
            out.append(dict(loss=f.__name__, params=p, scores=s.tolist(), labels=y.astype(int).tolist(), value=float(v), grad=[float(x) for x in gr]))
    json.dump(out, sys.stdout, indent=None)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
