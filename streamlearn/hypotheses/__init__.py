"""Hypothesis classes: what may be true of a stream, and how hard it is to learn.

A class knows its Littlestone dimension and restricts to version spaces; :mod:`streamlearn.hypotheses.base` says what
a class of one's own needs.
"""

from __future__ import annotations

from streamlearn.hypotheses.base import HypothesisClass, VersionSpace
from streamlearn.hypotheses.conjunctions import Conjunctions
from streamlearn.hypotheses.decomposition import (
    decomposition_dimension,
    decomposition_tree,
    essential_hypotheses,
)
from streamlearn.hypotheses.decompositiontree import DecompositionTree
from streamlearn.hypotheses.finite import Finite
from streamlearn.hypotheses.intervals import Intervals
from streamlearn.hypotheses.irreducibility import is_irreducible
from streamlearn.hypotheses.labelling import Labelling
from streamlearn.hypotheses.points import Point3, Points, SingletonsOrEmpty
from streamlearn.hypotheses.shattered import (
    ShatteredTree,
    is_shattered,
    littlestone_dimension,
    shattered_tree,
)
from streamlearn.hypotheses.stumps import Stumps
from streamlearn.hypotheses.thresholds import Thresholds

__all__ = [
    "Conjunctions",
    "DecompositionTree",
    "Finite",
    "HypothesisClass",
    "Intervals",
    "Labelling",
    "Point3",
    "Points",
    "ShatteredTree",
    "SingletonsOrEmpty",
    "Stumps",
    "Thresholds",
    "VersionSpace",
    "decomposition_dimension",
    "decomposition_tree",
    "essential_hypotheses",
    "is_irreducible",
    "is_shattered",
    "littlestone_dimension",
    "shattered_tree",
]
