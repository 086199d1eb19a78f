"""Mode "paper": its candidates and groups read an instance by its identity alone (sampled.proof.md, Assumptions)."""

from __future__ import annotations

from streamlearn import Key
from streamlearn.agents.past import Past
from streamlearn.hypotheses import Stumps
from streamlearn.selection import Mistake
from streamlearn.selection.sampled import SampledScheme


def test_the_first_instance_of_an_identity_does_not_decide_how_later_ones_are_read():
    cls = Stumps({"a": [0.5]})
    for here, there in (({"a": 0.5}, {"a": 7.0}), ({"a": 7.0}, {"a": 0.5, "b": 3})):
        selector = SampledScheme(cls, 1).start(2.0, 40)
        selector.advance([Mistake(t, there, True) for t in range(1, 41)], Key.from_seed(1))
        assert selector.to_plain()["groups"] != ["3"] * 20  # no instance that the class knows is lost
        h, found = selector.candidate(), []
        for first in (here, there):
            past = Past(40)
            for t, x in enumerate([first, *[here] * 30], 1):
                past.add(cls.identity(x), x, answer=False, label=False, sequence=t)
            found.append(len(past.mistakes(h)))
        assert found in ([31, 31], [0, 0])
