"""Candidate selection: few candidates, one of which makes few mistakes, chosen privately from batches of mistakes.

The first candidate is public. Each further one is found from the first K mistakes of the one before (Lemma 3 and
Algorithm 2). :func:`scheme` says which ways a class supports.

A class of one's own takes part by two methods: ``VersionSpace.options()``, most easily
:class:`~streamlearn.hypotheses.options.ListedOptions` at a few instances, and ``HypothesisClass.coverings()``, which
says how well these cover. Without them, ``as_finite()`` is enough.

Examples
--------
>>> from streamlearn.hypotheses import HypothesisClass, Thresholds
>>> from streamlearn.hypotheses.options import Covering
>>> from streamlearn.hypotheses.thresholds import ThresholdSpace
>>> from streamlearn.selection import scheme
>>> class Sometime(HypothesisClass):
...     '''Thresholds on 1..10 that are 1 by 5 at the latest.'''
...     dimension = 2
...     def version_space(self): return ThresholdSpace(1, 5, 10)  # whose options() are the two at SOA's change
...     def coverings(self): return [Covering(rho=1, rivals=1)]  # all mistakes support one; the other is false
...     def default(self, x): return self.knows(x) and x >= 5
...     def knows(self, x): return Thresholds(10).knows(x)
...     def from_plain(self, data): return Thresholds(10).from_plain(data)
...     def __repr__(self): return "Sometime()"
>>> scheme(Sometime()).mode, scheme(Sometime()).steps
('options', 2)
"""

from __future__ import annotations

from streamlearn.selection.base import Candidate, Mistake, Scheme, Selector
from streamlearn.selection.options import OptionsScheme
from streamlearn.selection.schemes import scheme

__all__ = ["Candidate", "Mistake", "OptionsScheme", "Scheme", "Selector", "scheme"]
