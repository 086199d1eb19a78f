"""Plans as versioned JSON."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from streamlearn.errors import PlanError
from streamlearn.planning.chances import Chances
from streamlearn.planning.combination import Combination
from streamlearn.planning.crossing import check_crossover
from streamlearn.planning.modes import scheme_for
from streamlearn.planning.numbers import BOUNDS, demand
from streamlearn.planning.plan import Plan
from streamlearn.rounding import OUT_OF

if TYPE_CHECKING:
    from streamlearn.hypotheses.base import HypothesisClass

FORMAT = "streamlearn/private-plan"
VERSION, PACKED_VERSION = 1, 2
"""Of a file that lists the ramp, and of one that packs a long one."""

_LISTED = 1 << 16
"""The longest ramp that is listed: strings of millions of chances take a minute and gigabytes."""

_FIELD = re.compile(r"field `([a-z_]+)`")
_BYTE = re.compile(r"byte ([0-9]+)")
_NAME = re.compile(rb'"([a-z_]{1,30})"\s*:')

T = TypeVar("T", bound=msgspec.Struct)


class _Combination(msgspec.Struct, forbid_unknown_fields=True):
    epsilon: float
    delta: float
    gamma: float
    rule_epsilon: float
    rule_delta: float
    head_start: int


class _File(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A plan as it stands in the file: integers out of 2^64 as decimal strings, since JSON numbers are doubles.

    A long ramp is one string, see :meth:`Chances.packed`.

    A combination of null is a plan of candidate replacement alone, and it stands there; ``cut_from`` is written only
    where something was cut.
    """

    format: str
    version: int
    class_digest: str
    dimension: int
    epsilon: float
    delta: float
    mode: str
    candidates: int
    batch: int
    eta: float
    alpha: float
    order: float
    acceptance: list[str]
    delays: list[int]
    ramp: list[str] | str
    beta: float
    max_delay: int
    combination: _Combination | None
    crossover: float | None
    cut_from: int | None = None


class _Header(msgspec.Struct):
    """What is read first, so that a newer format is refused by name and not for its new fields."""

    format: str
    version: int


def to_json(plan: Plan) -> str:
    """Return a plan as JSON text, as :meth:`Plan.to_json` documents it."""
    fields = {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)}
    fields["acceptance"] = [str(level) for level in plan.acceptance]
    packed = len(plan.ramp) > _LISTED
    fields["ramp"] = _chances(plan.ramp).packed() if packed else [str(level) for level in plan.ramp]
    fields["delays"] = list(plan.delays)
    if plan.combination is not None:
        fields["combination"] = _Combination(**dataclasses.asdict(plan.combination))
    return msgspec.json.encode(_File(FORMAT, PACKED_VERSION if packed else VERSION, **fields)).decode()


def _chances(ramp: Chances | tuple[int, ...]) -> Chances:
    return ramp if isinstance(ramp, Chances) else Chances(ramp)


def from_json(text: str | bytes, hypotheses: HypothesisClass) -> Plan:
    """Return the plan that JSON text holds, as :meth:`Plan.from_json` documents it."""
    header = _decode(text, _Header)
    if header.format != FORMAT:
        raise PlanError(
            f"not a private plan: format is {header.format!r}, and {FORMAT!r} is read here; give a plan's own JSON"
        )
    if header.version not in (VERSION, PACKED_VERSION):
        raise PlanError(
            f"plan version {header.version} is not {VERSION} or {PACKED_VERSION}, those read here; upgrade streamlearn"
        )
    file = _decode(text, _File)
    fields = msgspec.structs.asdict(file)
    del fields["format"], fields["version"]
    fields["acceptance"] = _integers("acceptance", file.acceptance)
    fields["ramp"] = _ramp(file.ramp)
    fields["delays"] = tuple(file.delays)
    if file.combination is not None:
        fields["combination"] = Combination(**msgspec.structs.asdict(file.combination))
    plan = Plan(**fields)
    plan.certify(hypotheses)
    check_crossover(plan, scheme_for(hypotheses, plan.mode, plan.candidates))
    return plan


def load(path: str | Path, hypotheses: HypothesisClass) -> Plan:
    """Return the plan that a file holds, as :meth:`Plan.load` documents it."""
    try:
        text = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise PlanError(
            f"plan {path!s}: cannot be read ({error}); give a file that plan --out or Plan.save made"
        ) from None
    try:
        return from_json(text, hypotheses)
    except PlanError as error:
        raise PlanError(f"plan {path!s}: {error}") from None


def _ramp(written: list[str] | str) -> Chances:
    if isinstance(written, str):
        try:
            return Chances.unpacked(written)
        except ValueError:
            demand(False, "ramp", BOUNDS["ramp"], written[:40])
    ramp = _integers("ramp", list(written))
    demand(max(ramp, default=0) < OUT_OF, "ramp", BOUNDS["ramp"], ramp)
    return Chances(ramp)


def _integers(name: str, texts: list[str]) -> tuple[int, ...]:
    for text in texts:
        demand(len(text) <= 20 and text.isascii() and text.isdigit(), name, BOUNDS[name], text)
    return tuple(int(text) for text in texts)


def _decode(text: str | bytes, kind: type[T]) -> T:
    if not isinstance(text, str | bytes):
        raise PlanError(f"a plan must be JSON text, got {type(text).__name__}; give what to_json() returned")
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise PlanError(
            f"malformed private plan: {_named(str(error))}; give what to_json() returned"
        ) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise PlanError(
            f"malformed private plan: {error}{_place(text, str(error))}; give what to_json() returned"
        ) from None


def _named(message: str) -> str:
    """Return what msgspec says of a field with the field's name and bound: it names a path such as $.ramp[...]."""
    reason, _, path = message.partition(" - at `$")
    name = path.strip("`.").split("[")[0]
    missing = _FIELD.search(reason)
    if missing is not None:
        name = ".".join(filter(None, (name, missing[1])))
    if name not in BOUNDS:
        return message
    return f"the plan's {name} must {BOUNDS[name]}: {reason[0].lower()}{reason[1:]}"


def _place(text: str | bytes, message: str) -> str:
    """Return in which field the text ceases to be JSON, as far as that can be told."""
    found = _BYTE.search(message)
    if found is None:
        return ""
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    names = _NAME.findall(raw[: int(found[1])])
    return f", in field {names[-1].decode()}" if names else ""
