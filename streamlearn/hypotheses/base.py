"""What a predictor needs of a hypothesis class, and how to plug in one's own."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from streamlearn.errors import ParameterError, SizeError, StateError
from streamlearn.hypotheses.instances import key
from streamlearn.hypotheses.options import Covering, Options

if TYPE_CHECKING:
    from streamlearn.hypotheses.finite import Finite

T = TypeVar("T")

_LONGEST_NAME = 80


class VersionSpace(abc.ABC):
    """The hypotheses of a class that agree with the examples seen. Immutable, never empty.

    Attributes
    ----------
    dimension
        The Littlestone dimension of these hypotheses.

    Notes
    -----
    A version space of one's own needs ``dimension``, ``restrict`` and ``to_plain``; ``pivot`` too where
    :func:`~streamlearn.hypotheses.shattered_tree` is to work. ``predict`` follows from them, and is worth
    overriding where the answer is known without restricting.

    Examples
    --------
    >>> from streamlearn.hypotheses import Thresholds
    >>> space = Thresholds(7).version_space()
    >>> space.dimension, space.restrict(3, True).dimension, space.restrict(3, True).restrict(4, False)
    (3, 1, None)
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def dimension(self) -> int:
        """The Littlestone dimension of these hypotheses."""

    @abc.abstractmethod
    def restrict(self, x: Any, y: bool) -> VersionSpace | None:
        """Return the hypotheses among these that say ``y`` at ``x``; None when there is none.

        An instance the class does not know leaves the space as it is.
        """

    @abc.abstractmethod
    def to_plain(self) -> Any:
        """Return the space as plain JSON data, which its class's ``from_plain`` reads.

        Raises
        ------
        StateError
            If it holds an instance that JSON cannot carry.
        """

    def predict(self, x: Any) -> bool:
        """Return the answer of the standard optimal algorithm at ``x``.

        It is 0 where label 0 leaves the whole Littlestone dimension, and 1 otherwise (the paper's SOA, before its
        Definition 7). So where one label keeps the dimension it is that label, and where neither does it is 1.
        Whenever it errs, the dimension falls. An instance the class does not know gets 0.
        """
        zero = self.restrict(x, False)
        return zero is None or zero.dimension < self.dimension

    def pivot(self) -> Any:
        """Return an instance both of whose labels leave a dimension of at least ``dimension - 1``.

        It is the root of a shattered tree of full depth. Asked only where ``dimension`` is at least 1.

        Raises
        ------
        SizeError
            If the class does not say.
        """
        raise SizeError(
            f"{type(self).__name__} does not say which instance splits it best; "
            "override pivot(), or use a Finite class"
        )

    def options(self) -> Options:
        """Return the options that candidate selection chooses from.

        :class:`~streamlearn.hypotheses.options.ListedOptions` makes them of a few instances.

        Raises
        ------
        SizeError
            If the class does not say, or they are too many.
        """
        raise SizeError(
            f"{type(self).__name__} does not say what its options are; override options(), or use a Finite class"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class HypothesisClass(abc.ABC):
    """A nonempty set H of functions from instances to bits. Immutable and hashable.

    An instance is any hashable; river's dict of one feature stands for its value, unless the class is over features.
    Nothing here raises for an instance that is none: ``knows`` says False, predictions are False, and its label
    restricts nothing.

    Attributes
    ----------
    dimension
        The Littlestone dimension of H.

    Notes
    -----
    A class of one's own needs the members below and a version space; ``repr`` must name all its parameters (or
    ``digest`` be overridden), since classes of one name are taken for equal. ``as_finite`` is needed only for the
    tools that work through the whole class.

    Examples
    --------
    >>> from streamlearn.hypotheses import HypothesisClass, Thresholds
    >>> from streamlearn.hypotheses.thresholds import ThresholdSpace
    >>> class Sometime(HypothesisClass):
    ...     '''Thresholds on 1..10 that are 1 by 5 at the latest.'''
    ...     dimension = 2
    ...     def version_space(self): return ThresholdSpace(1, 5, 10)
    ...     def default(self, x): return self.knows(x) and x >= 5
    ...     def knows(self, x): return Thresholds(10).knows(x)
    ...     def from_plain(self, data): return Thresholds(10).from_plain(data)
    ...     def __repr__(self): return "Sometime()"
    >>> Sometime() == Sometime(), Sometime().version_space().predict(7)
    (True, True)
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def dimension(self) -> int:
        """The Littlestone dimension of the class."""

    @abc.abstractmethod
    def version_space(self) -> VersionSpace:
        """Return all hypotheses."""

    @abc.abstractmethod
    def default(self, x: Any) -> bool:
        """Return what one fixed, public hypothesis of the class says; False at an unknown instance."""

    @abc.abstractmethod
    def knows(self, x: Any) -> bool:
        """Return whether ``x`` is an instance of the domain."""

    @abc.abstractmethod
    def from_plain(self, data: Any) -> VersionSpace:
        """Return the version space that ``to_plain`` wrote.

        Raises
        ------
        StateError
            If ``data`` describes no version space of this class.
        """

    def identity(self, x: Any) -> Hashable:
        """Return what tells apart the instances on which hypotheses of the class differ, for an instance it knows.

        Instances of one identity are one instance to every hypothesis.
        """
        return key(x)

    def as_finite(self) -> Finite:
        """Return the class as a table of hypotheses and instances.

        Raises
        ------
        SizeError
            If it is too large, or infinite.
        """
        raise SizeError(
            f"{self!r} cannot be listed as a table; use a class on a smaller domain, or override as_finite()"
        )

    def coverings(self) -> Sequence[Covering]:
        """Return how well options cover mistakes, one entry for each case that can arise; none if no mistake can.

        They must hold in every version space that taking options alone leads to.

        Raises
        ------
        SizeError
            If the class does not say. Candidate selection then works on :meth:`as_finite`.
        """
        raise SizeError(
            f"{self!r} does not say how well its options cover; override coverings(), or use a Finite class"
        )

    @property
    def digest(self) -> str:
        """A short, stable name of the class and its parameters."""
        name = repr(self)
        if len(name) <= _LONGEST_NAME:
            return name
        return f"{type(self).__name__}:{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash((type(self), self.digest))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def check_class(cls: object) -> HypothesisClass:
    """Return a hypothesis class.

    Raises
    ------
    ParameterError
        If it is none.
    """
    if isinstance(cls, HypothesisClass):
        return cls
    if isinstance(cls, type):
        raise ParameterError(
            f"cls must be a hypothesis class with its parameters, got {cls.__name__} without"
        )
    raise ParameterError(
        f"cls must be a hypothesis class, got {type(cls).__name__}; a table makes one: Finite(table)"
    )


def read_plain(data: Any, kind: type[T], name: str) -> T:
    """Return saved data as ``kind``.

    Raises
    ------
    StateError
        If it has another form.
    """
    try:
        return msgspec.convert(data, kind)
    except (ValueError, RecursionError) as error:  # also half a character, or a number too long to be shown
        raise StateError(
            f"malformed version space of {name}: {error}; give what to_plain() returned"
        ) from None


def unreadable(name: str) -> StateError:
    """Return the error for saved data of the right form that describes no version space."""
    return StateError(f"no version space of {name}: the saved data was edited, or another class wrote it")
