"""Learning a prior from randomised bits alone: each person answers one question "is your value at least t?".

The person's side is an ordinary reporter with the channel of the question; what is here is public.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn.channels import OUT_OF, Channel, Report
from streamlearn.errors import ParameterError, ReportError
from streamlearn.plans import ReportingPlan
from streamlearn.priors.base import Floats
from streamlearn.priors.finite import Discrete
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key, checked_key
from streamlearn.rounding import as_float, check_epsilon

THRESHOLDS = 32
MOST_THRESHOLDS = 10_000

Counts = npt.NDArray[np.int64]


class Fit(msgspec.Struct, frozen=True, eq=False):
    """A law learned from randomised bits, and how sure it is.

    Parameters
    ----------
    prior
        The law: the survival function, made to fall from 1 to 0, with the mass between two thresholds at their middle.
    survival
        P(X >= t) at each threshold, shape (k,): debiased shares of ones, made to fall, clipped to [0, 1]. NaN where
        nobody was asked.
    standard_errors
        Of the debiased share at each threshold, shape (k,); infinite where nobody was asked.
    answers
        How many people were asked about each threshold, shape (k,).
    mean_standard_error
        Of the mean that the debiased shares give before they are made to fall, which moves them closer to the truth.
        Infinite where some threshold was asked of nobody.

    Examples
    --------
    >>> from streamlearn.surveys import Survey
    >>> fit = Survey(0.0, 4.0, epsilon=1.0, thresholds=1).fit_counts([100], [50])
    >>> fit.prior.atoms.tolist(), fit.survival.round(3).tolist(), fit.standard_errors.round(3).tolist()
    ([1.0, 3.0], [0.5], [0.108])
    """

    prior: Discrete
    survival: Floats
    standard_errors: Floats
    answers: Counts
    mean_standard_error: float

    def __repr__(self) -> str:
        return f"Fit(answers={int(self.answers.sum())}, thresholds={len(self.answers)})"


class Survey:
    """Questions from which a prior is learned under local differential privacy.

    Each person answers one of k questions by randomised response at ε: "is your value at least t_j?", the t_j equally
    spaced inside a range. Which one is a public function of the person's name, so nobody chooses it. People of one law
    take part in one survey; stages with laws of their own need a survey each.

    Parameters
    ----------
    low, high
        The range that values lie in, 0 <= low < high: known beforehand, never taken from the values. A value outside
        counts as the nearer end.
    epsilon
        What each answer spends, 0 < ε <= ∞.
    thresholds
        The number of questions, k. More tell the law apart more finely, and each is asked of fewer people.
    key
        Assigns questions to names; it is no secret. People who are to be surveyed again need other names.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Notes
    -----
    With b = P(1 | below), a = P(1 | above) of the channel's own integers and f the share of ones among N answers,
    (f - b)/(a - b) is unbiased for P(X >= t) and has standard error sqrt(f(1 - f)/N)/(a - b). The shares are made to
    fall by weighted isotonic regression, the weights being N. The law then has its mass between two
    thresholds at their middle, which misplaces no value by more than (high - low)/(2k + 2).

    Privacy is the reporter's (``reporter.proof.md``): each report is ε-LDP, and the fit is computed from reports and
    public numbers. A person who is asked again later, by a plan made from this prior, spends that too: with
    ``max_epsilon`` = ε such a person's reporter refuses.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.reporters import Reporter
    >>> from streamlearn.surveys import Survey
    >>> survey = Survey(low=0.0, high=1.0, epsilon=1.0, thresholds=3)
    >>> answers = []
    >>> for i in range(300):
    ...     reporter = Reporter(max_epsilon=1.0, key=Key.from_seed(i))
    ...     name = f"person {i}"
    ...     answers.append(reporter.report(value=i / 300, channel=survey.channel(name), event_id=name))
    >>> fit = survey.fit(answers)
    >>> fit.prior.atoms.tolist(), fit.answers.tolist()
    ([0.125, 0.375, 0.625, 0.875], [112, 93, 95])
    >>> 0.5 < LDPOptimalStopper([fit.prior] * 10, epsilon=1.0).value < 0.8
    True
    """

    def __init__(
        self, low: float, high: float, epsilon: float, thresholds: int = THRESHOLDS, key: Key | None = None
    ) -> None:
        self.low, self.high = _range(low, high)
        self.epsilon = check_epsilon(epsilon)
        if self.epsilon == 0.0:
            raise ParameterError("epsilon must be > 0, got 0: such answers tell nothing to learn from")
        if type(thresholds) is not int or not 1 <= thresholds <= MOST_THRESHOLDS:
            raise ParameterError(
                f"thresholds must be a whole number in 1..{MOST_THRESHOLDS}, got {thresholds!r}; "
                f"{THRESHOLDS} serve most laws"
            )
        self._edges = np.linspace(self.low, self.high, thresholds + 2)
        if not (np.diff(self._edges) > 0.0).all():
            raise ParameterError(
                f"thresholds are {thresholds} and low..high is too narrow to hold as many; ask fewer questions"
            )
        self.key = Key.from_seed(0) if key is None else checked_key(key)

    @property
    def thresholds(self) -> Floats:
        """What is asked about: t_1 < ... < t_k, shape (k,)."""
        return self._edges[1:-1]

    @cached_property
    def plan(self) -> ReportingPlan:
        """The questions as the rounds 1..k of a plan, for clients; each person answers only one."""
        return ReportingPlan([
            Channel.randomized_response(j, t, self.epsilon) for j, t in enumerate(self.thresholds, start=1)
        ])  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """ε-LDP for every person's report, with ε what its integers really spend."""
        return Guarantee.local(self.plan.epsilon)

    def question(self, name: str | int) -> int:
        """Return the number of the question a person is asked, 1..k.

        Parameters
        ----------
        name
            The person's name in the survey, never derived from the value: the report's ``event_id``.

        Raises
        ------
        ReportError
            If it holds half a character.

        Examples
        --------
        >>> from streamlearn.surveys import Survey
        >>> survey = Survey(0.0, 1.0, epsilon=1.0)
        >>> survey.question("a17"), survey.question("a18")
        (21, 26)
        """
        try:
            return 1 + self.key.below(len(self.thresholds), "survey", name)
        except UnicodeEncodeError:
            raise ReportError("name holds a lone surrogate, half a character; rename it") from None

    def channel(self, name: str | int) -> Channel:
        """Return what a person is asked: the channel of :meth:`question`.

        Examples
        --------
        >>> from streamlearn.surveys import Survey
        >>> channel = Survey(0.0, 1.0, epsilon=1.0).channel("a17")
        >>> channel.round, round(channel.threshold, 6)
        (21, 0.636364)
        """
        return self.plan[self.question(name)]

    def fit(self, reports: Iterable[Report]) -> Fit:
        """Return the law that reports tell of.

        Parameters
        ----------
        reports
            One a person, in any order; a report that comes twice counts once.

        Raises
        ------
        ReportError
            If a report has no name, a bit other than 0 or 1, or answers another question than that of its name; or if
            two with one name differ.
        ParameterError
            If there is no report.

        Examples
        --------
        >>> from streamlearn import Report
        >>> from streamlearn.surveys import Survey
        >>> Survey(0.0, 1.0, epsilon=1.0).fit([Report(round=21, bit=1, event_id="a17")])
        Fit(answers=1, thresholds=32)
        """
        bits: dict[str, int] = {}
        counts = np.zeros((2, len(self.thresholds)), dtype=np.int64)
        for place, report in enumerate(reports):
            name = self._check(place, report)
            if name not in bits:
                bits[name] = report.bit
                counts[report.bit, report.round - 1] += 1
            elif bits[name] != report.bit:
                raise ReportError(
                    f"reports[{place}] contradicts an earlier one of its name; names must differ"
                )
        return self.fit_counts(counts.sum(axis=0), counts[1])

    def _check(self, place: int, report: object) -> str:
        """Return the name of a report that answers its own question."""
        if not isinstance(report, Report) or report.event_id is None:
            raise ReportError(f"reports[{place}] must be a Report with an event_id; a Reporter makes one")
        if type(report.bit) is not int or report.bit not in {0, 1}:
            raise ReportError(f"reports[{place}] must have a bit that is 0 or 1, as an int")
        if report.round != self.question(report.event_id):
            raise ReportError(
                f"reports[{place}] answers question {report.round!r}, its name is asked another; "
                "take the channel from survey.channel(name)"
            )
        return report.event_id

    def fit_counts(self, answers: npt.ArrayLike, ones: npt.ArrayLike) -> Fit:
        """Return the law that counts tell of.

        Parameters
        ----------
        answers
            How many people were asked each question, shape (k,).
        ones
            How many of them said 1, shape (k,).

        Raises
        ------
        ParameterError
            If the shapes are not (k,), there are more ones than answers, or nobody answered.

        Examples
        --------
        >>> from streamlearn.surveys import Survey
        >>> Survey(0.0, 3.0, epsilon=float("inf"), thresholds=2).fit_counts([10, 10], [5, 1]).prior
        Discrete([0.5, 1.5, 2.5], [0.5, 0.4, 0.1])
        """
        k = len(self.thresholds)
        asked, said = np.asarray(answers, dtype=np.int64), np.asarray(ones, dtype=np.int64)
        if not (asked.shape == said.shape == (k,) and ((said >= 0) & (said <= asked)).all() and asked.any()):
            raise ParameterError(
                f"answers and ones must be {k} counts each, ones the smaller, and not all 0; give those of one survey"
            )
        below, spread = self._law
        known = asked > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            debiased = (said / asked - below) / spread
        survival = np.full(k, np.nan)
        survival[known] = _falling(debiased[known], asked[known])
        share = below + spread * survival
        errors = np.full(k, np.inf)
        errors[known] = np.sqrt((share * (1.0 - share))[known] / asked[known]) / spread
        width = self._edges[1] - self._edges[0]
        return Fit(
            self._law_of(survival, known), survival, errors, asked, float(width * np.linalg.norm(errors))
        )

    @cached_property
    def _law(self) -> tuple[float, float]:
        """P(1 | below) and P(1 | above) - P(1 | below), from the channels' integers."""
        channel = self.plan[1]
        return channel.below / OUT_OF, (channel.above - channel.below) / OUT_OF

    def _law_of(self, survival: Floats, known: npt.NDArray[np.bool_]) -> Discrete:
        edges = np.concatenate([[self.low], self.thresholds[known], [self.high]])
        reach = np.concatenate([[1.0], survival[known], [0.0]])
        return Discrete((edges[:-1] + edges[1:]) / 2.0, -np.diff(reach))

    def __repr__(self) -> str:
        return (
            f"Survey(low={self.low:g}, high={self.high:g}, epsilon={self.epsilon:g}, "
            f"thresholds={len(self.thresholds)})"
        )


def _falling(shares: Floats, weights: Counts) -> Floats:
    """Return the closest shares in [0, 1] that do not rise; clipping the closest that do not rise gives them."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - heavy, and only a fit needs it

    fitted = isotonic_regression(shares, weights=weights, increasing=False).x
    result: Floats = np.clip(fitted, 0.0, 1.0)
    return result


def _range(low: object, high: object) -> tuple[float, float]:
    ends = as_float(low), as_float(high)
    if ends[0] is None or ends[1] is None or not 0.0 <= ends[0] < ends[1] < np.inf:
        raise ParameterError(
            f"low and high must be finite with 0 <= low < high, got {low!r} and {high!r}; "
            "give a range known before anybody answers"
        )
    return ends[0], ends[1]
