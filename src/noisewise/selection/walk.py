"""A walk through the models, if there are too many to list.

Chains start from the empty model, the full one, the best one that a climb finds, and random ones. A step flips several terms at
once, each about as often as its inclusion probability suggests (adaptive proposals: Griffin, Łatuszyński and Steel 2021), or
swaps an included term for a similar one that is not. It is accepted by the Metropolis-Hastings rule. Proposals adapt to the
posterior in a first phase, which is discarded so that the rest is a valid Markov chain. The models of all chains are weighed in
one call, and none twice. Rejected steps are not wasted: a proposed model counts with its probability of being accepted, the
current one with the rest.

If practically all of the probability lies on models that have been weighed, their weights are more precise than their visit
counts. If it is spread over too many models to visit, only the visits are unbiased. The walk determines which case holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Flags
from noisewise.progress import Tick
from noisewise.selection.weigher import Weigher

CHAINS: Final = 24
BLOCK: Final = 100
LESSONS: Final = 6
LEAST_BLOCKS, MOST_BLOCKS = 6, 30
"""Steps are taken in blocks; those of the lessons are discarded."""
AIM: Final = 0.005
"""The walk ends when no inclusion probability has a larger standard error."""
DOUBTFUL: Final = 0.02
SWAPS, SINGLES = 0.1, 0.5
"""Shares of the steps. Without single flips a chain that starts at the full model would stay there for long."""
ACCEPTED: Final = 0.3
NEW: Final = 0.01
"""With less probability than this on models first met in the last third, nearly all has been seen. Compared with a list of all
2¹⁴ and 2¹⁶ models, weights were ten times as accurate as visits when a few models mattered. When hundreds did, weights missed
some and were no better."""


@dataclass(frozen=True)
class Visited:
    """Models, their probabilities, and doubts about them as text."""

    members: Flags
    probabilities: Array
    doubts: tuple[str, ...]


def walk(evidence: Weigher, log_prior: Array, seed: int, tick: Tick) -> Visited:
    """Walk; ``log_prior`` is the log prior probability of one model with 0, 1, …, K terms."""
    rng = np.random.default_rng(seed)
    weights = _Weights(evidence, log_prior)
    best, share = _climb(weights)
    chains = _Chains(weights, _starts(best, rng), _likeness(evidence), rng)
    total = (LESSONS + MOST_BLOCKS) * BLOCK
    for lesson in range(LESSONS):
        chains.begin(share)
        for _ in range(BLOCK):
            chains.step(learn=True)
        share = 0.5 * share + 0.5 * chains.inclusion().mean(axis=0)
        tick((lesson + 1) * BLOCK, total)
    chains.begin(share)
    for block in range(MOST_BLOCKS):
        for _ in range(BLOCK):
            chains.step(learn=False)
        tick((LESSONS + block + 1) * BLOCK, total)
        error = float(chains.inclusion().std(axis=0, ddof=1).max()) / math.sqrt(CHAINS)
        if block + 1 >= LEAST_BLOCKS and error <= AIM:
            break
    return _visited(weights, chains, error)


class _Weights:
    """Log posterior weights of models, each weighed once; models are numbered in order of appearance."""

    def __init__(self, evidence: Weigher, log_prior: Array) -> None:
        self.evidence, self.log_prior, self.terms = evidence, log_prior, len(evidence.groups)
        self.number: dict[bytes, int] = {}
        self.logs: list[float] = []

    def __call__(self, members: Flags) -> tuple[npt.NDArray[np.int64], Array]:
        keys = [row.tobytes() for row in np.packbits(members, axis=1)]
        new = {key: place for place, key in enumerate(keys) if key not in self.number}
        if new:
            models = members[list(new.values())]
            self.logs.extend(self.evidence.log_bayes_factors(models) + self.log_prior[models.sum(axis=1)])
            self.number.update(zip(new, range(len(self.number), len(self.number) + len(new)), strict=True))
        numbers = np.array([self.number[key] for key in keys])
        return numbers, np.array([self.logs[number] for number in numbers])

    def members(self) -> Flags:
        packed = np.frombuffer(b"".join(self.number), dtype=np.uint8).reshape(len(self.number), -1)
        return np.unpackbits(packed, axis=1, count=self.terms).astype(bool)


class _Chains:
    """Chains side by side, and the weight that each has given to each model."""

    def __init__(self, weights: _Weights, members: Flags, likeness: Array, rng: np.random.Generator) -> None:
        self.weights, self.members, self.likeness, self.rng = weights, members, likeness, rng
        self.numbers, self.logs = weights(members)
        self.boldness = math.log(0.5)

    def begin(self, share: Array) -> None:
        """Restart the counts, and flip terms about as often as these inclusion probabilities suggest."""
        least = 0.1 / len(share)
        odds = np.clip(share, least, 1.0 - least) / (1.0 - np.clip(share, least, 1.0 - least))
        self.rate_in, self.rate_out = np.minimum(odds, 1.0), np.minimum(1.0 / odds, 1.0)
        self.steps, self.kept = 0, np.zeros(self.members.shape)
        self.visits: list[tuple[npt.NDArray[np.int64], Array]] = []

    def inclusion(self) -> Array:
        """Inclusion probabilities: (chains, terms)."""
        return self.kept / self.steps

    def step(self, learn: bool) -> None:
        kind = self.rng.uniform(size=len(self.members))
        bold = kind >= SWAPS + SINGLES
        proposed, log_ratio = self._turned(math.exp(self.boldness))
        proposed[~bold], log_ratio[~bold] = self.members[~bold], 0.0
        terms = self.rng.integers(self.members.shape[1], size=len(kind))
        for chain in np.flatnonzero(~bold):
            if kind[chain] < SINGLES:
                proposed[chain, terms[chain]] ^= True
            else:
                log_ratio[chain] = self._swap(proposed[chain])
        numbers, logs = self.weights(proposed)
        accept = np.exp(np.minimum(logs - self.logs + log_ratio, 0.0))
        self.steps += 1
        self.kept += accept[:, None] * proposed + (1.0 - accept)[:, None] * self.members
        self.visits += [(numbers, accept), (self.numbers, 1.0 - accept)]
        if learn and bold.any():
            self.boldness = min(self.boldness + 0.05 * (accept[bold].mean() - ACCEPTED), 0.0)
        taken = self.rng.uniform(size=len(accept)) < accept
        self.members = np.where(taken[:, None], proposed, self.members)
        self.numbers, self.logs = np.where(taken, numbers, self.numbers), np.where(taken, logs, self.logs)

    def _turned(self, boldness: float) -> tuple[Flags, Array]:
        """Flip each term independently. Also return the log ratio of the probabilities of the reverse and the forward step."""
        there = boldness * np.where(self.members, self.rate_out, self.rate_in)
        turn = self.rng.uniform(size=there.shape) < there
        back = boldness * np.where(self.members, self.rate_in, self.rate_out)
        return self.members ^ turn, np.sum(np.where(turn, np.log(back / there), 0.0), axis=1)

    def _swap(self, model: Flags) -> float:
        """Swap a random included term for an excluded one, drawn by its likeness to the first."""
        if model.all() or not model.any():
            return 0.0
        leaving = self.rng.choice(np.flatnonzero(model))
        there = np.where(model, 0.0, self.likeness[leaving])
        entering = self.rng.choice(len(model), p=there / there.sum())
        model[leaving], model[entering] = False, True
        back = np.where(model, 0.0, self.likeness[entering])
        return float(np.log(back[leaving] / back.sum()) - np.log(there[entering] / there.sum()))


def _climb(weights: _Weights) -> tuple[Flags, Array]:
    """Climb from the empty model by the best single flip, or several at once; also each term's probability given the rest."""
    model = np.zeros(weights.terms, dtype=bool)
    single = np.eye(weights.terms, dtype=bool)
    at = weights(model[None])[1][0]
    while True:
        gains = weights(model ^ single)[1] - at
        order = np.argsort(-gains)
        better = int(np.sum(gains > 0.0))
        several = [order[:2**power] for power in range(better.bit_length())]
        turned = np.array([model ^ single[these].any(axis=0) for these in several]).reshape(-1, weights.terms)
        logs = weights(turned)[1] if better else np.zeros(0)
        if not better or logs.max() <= at:
            return model, 1.0 / (1.0 + np.exp(np.clip(np.where(model, gains, -gains), -500.0, 500.0)))
        model, at = turned[int(np.argmax(logs))], float(logs.max())


def _starts(best: Flags, rng: np.random.Generator) -> Flags:
    """Start from the empty and the full model, the best known, and random ones of all sizes."""
    shares = np.linspace(0.0, 0.5, CHAINS)[:, None]
    starts = rng.uniform(size=(CHAINS, len(best))) < shares
    starts[1::4] = best
    starts[0], starts[-1] = False, True
    return starts


def _likeness(evidence: Weigher) -> Array:
    """Likeness of two groups of columns: their largest squared correlation, plus a small constant."""
    moments = evidence.prior_moments
    squares = moments**2 / np.outer(np.diagonal(moments), np.diagonal(moments))
    groups = evidence.groups
    return np.array([[squares[np.ix_(one, other)].max() for other in groups] for one in groups]) + 0.1 / len(groups)


def _visited(weights: _Weights, chains: _Chains, error: float) -> Visited:
    members = weights.members()
    late = len(chains.visits) * 2 // 3
    numbers = np.concatenate([numbers for numbers, _ in chains.visits])
    visits = np.concatenate([weight for _, weight in chains.visits])
    before = np.unique(np.concatenate([numbers for numbers, _ in chains.visits[:late]]))
    recent = np.arange(len(numbers)) >= late * CHAINS
    fresh = float(visits[recent & ~np.isin(numbers, before)].sum() / visits[recent].sum())
    doubts: tuple[str, ...] = ()
    if fresh <= NEW:
        logs = np.array(weights.logs)
        probabilities = np.exp(logs - logs.max())
    else:
        probabilities = np.bincount(numbers, visits, minlength=len(members))
    probabilities /= probabilities.sum()
    if error > DOUBTFUL:
        doubts = ("chains that started from different models do not agree yet: "
                  f"inclusion probabilities are uncertain by up to ±{2 * error:.2f}",)
    seen = probabilities > 0.0
    return Visited(members[seen], probabilities[seen], doubts)
