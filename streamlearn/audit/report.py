"""What an audit found: a page that a reviewer can file. It holds places and chances, never a private value."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Literal

import msgspec

from streamlearn import __version__
from streamlearn.files import write_atomically
from streamlearn.privacy import Guarantee

Method = Literal["exact", "statistical"]
Verdict = Literal["holds", "refuted", "not refuted"]

FORMAT = "streamlearn/audit"
VERSION = 1

_MEANING = {
    "holds": "on everything enumerated the claim holds; of anything else nothing is said",
    "refuted": "the claim is false, or an event as improbable as the error rate has happened",
    "not refuted": "the samples do not show the claim to be false; they do not prove it",
}
_EXACTLY = "the claim is false: what was enumerated tells more"


_MOST_BITS = 4096
"""A ratio of longer numbers is not written out: nobody reads it, and Python refuses to from 4,300 digits on."""


def written(ratio: Fraction | None) -> str | None:
    """Return a ratio as text; None where there is none, or its numbers are very long.

    Parameters
    ----------
    ratio
        The ratio.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlearn.audit.report import written
    >>> written(Fraction(1, 3)), written(Fraction(1, 7**9999))
    ('1/3', None)
    """
    return None if ratio is None or ratio.denominator.bit_length() > _MOST_BITS else str(ratio)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit found.

    Parameters
    ----------
    subject
        What was audited, in words.
    claim
        What is claimed of it.
    method
        ``"exact"``: all outcomes of all draws, with their chances; ``"statistical"``: samples.
    size, counted
        How much was looked at, and of what: streams, channels, pairs of inputs or samples.
    measure
        What ``bound`` bounds: ``"epsilon"`` at the claimed δ, or ``"delta"`` at the claimed ε.
    bound
        Exact: what is reached, rounded up. Statistical: a lower bound of the truth.
    fraction
        ``bound`` as an exact ratio; of an ε, e^ε. None where it is a sample's, infinite, or too long to write.
    error
        The chance that a true claim is refuted: 0 for exact audits.
    verdict
        ``"holds"`` (exact), ``"refuted"`` or ``"not refuted"`` (statistical).
    finding
        Where the bound is reached, by place.
    key
        The public fingerprint of the key of the samples: with it the same report comes again. None of an exact audit.

    Attributes
    ----------
    refuted
        Whether the claim is.

    Examples
    --------
    >>> from streamlearn import Channel, audit
    >>> report = audit.exact_channel(Channel.randomized_response(1, 0.5, 1.0))
    >>> report.verdict, report.measure, round(report.bound, 9)
    ('holds', 'epsilon', 1.0)
    >>> audit.Report.from_json(report.to_json()) == report
    True
    """

    subject: str
    claim: Guarantee
    method: Method
    size: int
    counted: str
    measure: Literal["epsilon", "delta"]
    bound: float
    fraction: str | None = None
    error: float = 0.0
    verdict: Verdict
    finding: str
    key: str | None = None

    @property
    def refuted(self) -> bool:
        """Whether the claim is shown to be false."""
        return self.verdict == "refuted"

    def to_json(self) -> str:
        """Return the report as JSON, the same for the same report.

        Examples
        --------
        >>> from streamlearn import Channel, audit
        >>> print(audit.exact_channel(Channel.constant(1, bit=1)).to_json()[:50])
        {"format":"streamlearn/audit","version":1,"softwar
        """
        body = msgspec.to_builtins(self)
        body["bound"] = "inf" if math.isinf(self.bound) else self.bound
        body["claim"]["epsilon"] = "inf" if math.isinf(self.claim.epsilon) else self.claim.epsilon
        head = {"format": FORMAT, "version": VERSION, "software": f"streamlearn {__version__}"}
        return msgspec.json.encode(head | body).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """Return the report that :meth:`to_json` wrote.

        Raises
        ------
        PlanError
            If it is none.

        Examples
        --------
        >>> from streamlearn.audit import Report
        >>> Report.from_json("{}")
        Traceback (most recent call last):
            ...
        streamlearn.errors.PlanError: not an audit's report; give the text that Report.to_json wrote
        """
        from streamlearn.errors import PlanError  # noqa: PLC0415 - only a reader needs it

        try:
            plain = msgspec.json.decode(text, type=dict[str, object])
            if (plain.pop("format", None), plain.pop("version", None)) != (FORMAT, VERSION):
                raise msgspec.ValidationError("another format")
            plain.pop("software", None)
            claim = plain["claim"]
            for fields, name in ((plain, "bound"), (claim, "epsilon")):
                if isinstance(fields, dict) and fields[name] == "inf":
                    fields[name] = math.inf
            return msgspec.convert(plain, cls)
        except (msgspec.MsgspecError, KeyError, UnicodeError, RecursionError):
            raise PlanError("not an audit's report; give the text that Report.to_json wrote") from None

    def to_markdown(self) -> str:
        """Return the report as a page.

        Examples
        --------
        >>> from streamlearn import Channel, audit
        >>> print(audit.exact_channel(Channel.constant(1, bit=1)).to_markdown().splitlines()[0])
        # Audit: channel of round 1
        """
        meaning = _EXACTLY if self.refuted and self.method == "exact" else _MEANING[self.verdict]
        rows = {
            "claim": str(self.claim),
            "of": self.claim.neighbours,
            "method": self.method,
            "looked at": f"{self.size:,} {self.counted}",
            "bound found": self._bound(),
            "error rate": f"{self.error:g}",
            "verdict": f"**{self.verdict}**: {meaning}",
            "where": self.finding,
            "made by": f"streamlearn {__version__}" + (f", key {self.key}" if self.key else ""),
        }
        body = "".join(f"| {name} | {text} |\n" for name, text in rows.items())
        return f"# Audit: {self.subject}\n\n| | |\n|---|---|\n{body}"

    def _bound(self) -> str:
        sign = "=" if self.method == "exact" else "≥"
        if self.measure == "epsilon":
            return f"ε {sign} {self.bound:.6g} at δ = {self.claim.delta:g}"
        return f"δ {sign} {self.bound:.6g} at ε = {self.claim.epsilon:g}"

    def save(self, path: str | Path) -> None:
        """Write the report whole or not at all: a page where the name ends in ``.md``, else JSON.

        Parameters
        ----------
        path
            Where to.

        Raises
        ------
        StreamlearnError
            If it cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from streamlearn import Channel, audit
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "audit.json"
        >>> report = audit.exact_channel(Channel.constant(1, bit=1))
        >>> report.save(file)
        >>> audit.Report.from_json(file.read_text()) == report
        True
        """
        text = self.to_markdown() if Path(path).suffix == ".md" else self.to_json() + "\n"
        write_atomically(path, text)
