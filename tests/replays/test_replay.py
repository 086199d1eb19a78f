"""Replaying stoppers: event by event, in batch, and both against each other."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
import scipy.stats
from instances import UNIFORMS
from structlog.testing import capture_logs

from streamlearn import Key, Report
from streamlearn.agents import LDPOptimalStopper, OptimalStopper, SingleThresholdStopper, StaticStopper
from streamlearn.errors import BudgetError, ParameterError, StreamError
from streamlearn.replays import benchmarks, evaluate_policy, read_stream, replay, replay_many, simulate
from streamlearn.replays.coins import expected_outcomes, stages
from streamlearn.replays.learning import split, stage_priors
from streamlearn.replays.streams import Episode, EpisodeBatch
from streamlearn.reporters import Reporter

N = 10


@pytest.fixture(scope="module")
def episodes():
    return np.random.default_rng(5).uniform(size=(400, N))


def _agents(levels=(0.5, 1.0, 3.0)):
    return {
        f"{kind.__name__} {e}": kind(UNIFORMS, e)
        for kind in (LDPOptimalStopper, SingleThresholdStopper)
        for e in levels
    }


def test_without_privacy_events_and_batch_agree_exactly(episodes):
    stopper = OptimalStopper(UNIFORMS)
    event = replay(episodes, stopper, reference=stopper)
    batch = replay_many(episodes, {"optimum": stopper}, reference=stopper)["optimum"]
    for field in (
        "episodes",
        "reward",
        "of_maximum",
        "of_reference",
        "nobody",
        "asked",
        "epsilons",
        "largest_share",
    ):
        assert getattr(event, field) == getattr(batch, field), field
    assert event.of_reference.value == 1.0
    taken = [episodes[d.episode][d.round - 1] for d in event.decisions]
    assert event.score == pytest.approx(np.mean(taken), rel=1e-14)


def test_events_scatter_around_the_integrated_coins(episodes):
    # Given the episodes the event loop's total reward is a sum of independent terms in [0, 1]: by Hoeffding it is
    # within sqrt(m ln(2/α)/2) of its expectation except with probability α = 1e-7.
    for stopper in _agents().values():
        event = replay(episodes, stopper, Reporter(max_epsilon=math.inf, key=Key.from_seed(11)))
        batch = replay_many(episodes, {"a": stopper})["a"]
        margin = math.sqrt(math.log(2e7) / (2 * len(episodes)))
        assert event.score == pytest.approx(batch.score, abs=margin)
        assert event.asked == pytest.approx(batch.asked, abs=margin)


def test_the_mean_over_fresh_episodes_is_the_oracles():
    # Rewards lie in [0, 1], 20,000 fresh episodes, the same bound.
    values = np.random.default_rng(6).uniform(size=(20_000, N))
    for name, result in replay_many(values, agents := _agents()).items():
        exact = evaluate_policy(agents[name], UNIFORMS)
        assert result.score == pytest.approx(exact.mean, abs=math.sqrt(math.log(2e7) / 40_000))
        assert result.mean_asked == pytest.approx(exact.mean_asked, abs=N * math.sqrt(math.log(2e7) / 40_000))


def test_a_replay_can_be_repeated_and_leaves_its_agent_alone(episodes):
    stopper = LDPOptimalStopper(UNIFORMS, 1.0)
    first, second = replay(episodes, stopper), replay(episodes, stopper)
    assert first == second
    assert stopper.round == 1
    reporter = Reporter(max_epsilon=1.0, key=Key.from_seed(3))
    decisions = replay(episodes, stopper, reporter).decisions
    # The same people asked again give the same bits and spend nothing more.
    spent = reporter.ledger.total
    assert replay(episodes, stopper, reporter).decisions == decisions
    assert reporter.ledger.total == spent


def test_a_reporters_limit_is_enforced(episodes):
    with pytest.raises(BudgetError):
        replay(episodes, LDPOptimalStopper(UNIFORMS, 1.0), Reporter(max_epsilon=0.5))


def test_observers_see_reports_and_never_values(episodes):
    steps = []
    result = replay(episodes[:20], LDPOptimalStopper(UNIFORMS, 1.0), observers=[steps.append])
    assert sum(step.taken for step in steps) == sum(d.round is not None for d in result.decisions)
    assert {type(step.report) for step in steps} == {Report}
    values = {repr(v) for v in episodes[:20].ravel().tolist()}
    assert not any(v in repr(steps) for v in values)


def test_forms_of_a_stream(episodes, tmp_path):
    log = tmp_path / "log.csv"
    rows = [f"{e},{v!r}" for e, episode in enumerate(episodes.tolist()) for v in episode]
    log.write_text("episode,value\n" + "\n".join(rows) + "\n")
    stopper = {"a": LDPOptimalStopper(UNIFORMS, 1.0)}
    expected = replay_many(episodes, stopper)["a"]
    for stream in (
        read_stream(log),
        list(read_stream(log)),
        (episode.tolist() for episode in episodes),
        [EpisodeBatch(list(range(400)), episodes)],
    ):
        found = replay_many(stream, stopper)["a"]
        # Sums over 400 episodes, added in batches of other sizes: a few hundred roundings.
        assert found.score == pytest.approx(expected.score, rel=1e-13)
        assert found.interval == pytest.approx(expected.interval, rel=1e-13)
        assert found.asked == pytest.approx(expected.asked, rel=1e-13)
        assert (found.episodes, found.nobody) == (400, 0.0)
    one = replay_many(episodes[0].tolist(), stopper)["a"]
    assert one.episodes == 1
    assert math.isnan(one.interval.low)


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        ([], "no whole episode"),
        ([[0.5] * 9], "9 people"),
        ([[0.5] * N, [0.5] * 9], "9 people"),
        ([[0.5] * 9 + [math.nan]], "person 10"),
        ([[0.5] * 9 + [-0.25]], "person 10"),
        ([[0.5] * 9 + [math.inf]], "person 10"),
        ([[0.5] * 9 + ["many"]], "not a number"),
        ([[]], "non-empty"),
        ([Episode("a", np.array([0.5] * 9 + [-0.25]))], "episode a, person 10"),
        ([[0.5] * 9 + [10**400]], "not a number"),
        ([0.5] * 9, "9 people"),
    ],
)
def test_bad_episodes_are_named_and_never_quoted(stream, words):
    for call in (
        lambda: replay(stream, LDPOptimalStopper(UNIFORMS, 1.0)),
        lambda: replay_many(stream, _agents()),
    ):
        with pytest.raises(StreamError, match=words) as error:
            call()
        assert "0.25" not in str(error.value)
        assert "many" not in str(error.value)


def test_no_agents():
    with pytest.raises(ParameterError, match="agents is empty"):
        replay_many([[1.0]], {})


def test_a_heavy_tail_is_called_out():
    values = np.ones((200, 2))
    values[7, 1] = 1e6  # the second person is taken: waiting costs nothing
    results = replay_many(values, {"a": LDPOptimalStopper([1.0, 1.0], 1.0)})
    assert "tail rules" in results["a"].warning
    assert (
        "only 20 episodes" in replay_many(values[:20], {"a": LDPOptimalStopper([1.0, 1.0], 1.0)})["a"].warning
    )
    assert replay_many(np.ones((200, 2)), {"a": LDPOptimalStopper([1.0, 1.0], 1.0)})["a"].warning is None


@pytest.mark.parametrize("reference", [OptimalStopper([1.0] * 2), OptimalStopper([1.0] * 4)])
def test_a_reference_has_the_same_horizon(reference):
    agent = LDPOptimalStopper([1.0] * 3, 1.0)
    for call in (
        replay,
        lambda stream, agent, reference: replay_many(stream, {"a": agent}, reference=reference),
    ):
        with pytest.raises(StreamError, match="OptimalStopper has horizon"):
            call(np.ones((40, 3)), agent, reference=reference)


def _warned(draw, episodes, runs=12):
    """Return in how many of some logs of one-person episodes the interval is warned of."""
    stopper = {"a": LDPOptimalStopper([1.0], 1.0)}
    return sum(
        replay_many(draw(np.random.default_rng(seed), episodes)[:, None], stopper)["a"].warning is not None
        for seed in range(runs)
    )


@pytest.mark.parametrize("index", [1.2, 1.5])
@pytest.mark.parametrize("episodes", [2_000, 50_000])
def test_an_infinite_variance_is_called_out_even_where_no_episode_stands_out(index, episodes):
    # Hill's estimate from k = √episodes tails is index·(1 ± 1/√k): 2 lies 2.3 or more deviations above it.
    assert _warned(lambda rng, size: 1 + rng.pareto(index, size), episodes) >= 11


def test_rare_rewards_are_called_out():
    assert _warned(lambda rng, size: 1000.0 * (rng.uniform(size=size) < 0.001), 300) == 12


@pytest.mark.parametrize("law", ["exponential", "normal", "uniform"])
def test_light_tails_are_not_called_out(law):
    # The exponential is the heaviest of them: its estimate at 2,000 episodes is near ln √2000 = 3.8.
    draws = {"exponential": lambda rng, n: rng.exponential(size=n), "normal": lambda rng, n: 5 + rng.normal(size=n),
             "uniform": lambda rng, n: rng.uniform(size=n)}  # fmt: skip
    assert _warned(lambda rng, size: np.abs(draws[law](rng, size)), 2_000) <= 1


def test_one_reporter_serves_two_logs(tmp_path):
    # The second log's people answer for themselves: with the first one's bits nobody would be taken at 0.9.
    stopper = LDPOptimalStopper([scipy.stats.uniform()] * 3, 20.0)
    reporter = Reporter(max_epsilon=20.0, key=Key.from_seed(1))
    scores = []
    for name, episode in (("first", "0.1\n0.1\n0.9\n"), ("second", "0.9\n0.1\n0.1\n")):
        path = tmp_path / f"{name}.csv"
        path.write_text("value\n" + episode * 200)
        scores.append(replay(read_stream(path, horizon=3), stopper, reporter).score)
    assert scores == pytest.approx([0.9, 0.9])


def test_nothing_prints_a_logged_value(log):
    parts = split(read_stream(log, horizon=10), 2)
    outcome = expected_outcomes(stages(OptimalStopper([98765.0]).plan), np.array([[98765.0]]))
    assert repr(parts) == "Split(learned=2 episodes)"
    assert "98765" not in repr(outcome)


def test_nobody_taken_is_counted():
    stopper = LDPOptimalStopper([0.0, 0.0], 1.0)
    for result in (replay(np.ones((40, 2)), stopper), replay_many(np.ones((40, 2)), {"a": stopper})["a"]):
        assert (result.nobody, result.score, result.mean_asked, result.epsilon) == (1.0, 0.0, 0.0, 0.0)
    assert result.of_maximum.value == 0.0


def test_summary_and_json(episodes):
    result = replay_many(episodes, _agents(), reference=OptimalStopper(UNIFORMS))["LDPOptimalStopper 1.0"]
    text = result.summary()
    assert f"{result.score:.4f}" in text
    assert "of optimum" in text
    plain = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert plain["reward"][0] == result.score
    assert plain["guarantee"].startswith("1-local")
    one = replay_many(episodes[:1], _agents())["LDPOptimalStopper 1.0"]
    assert json.loads(json.dumps(one.as_dict(), allow_nan=False))["reward"][1] == [None, None]


def test_telemetry_is_per_run_and_holds_no_value(episodes):
    with capture_logs() as events:
        replay_many(episodes, _agents())
    assert [event["event"] for event in events] == ["replay.started", "replay.finished"]
    assert events[1]["episodes"] == 400


# --- priors from an earlier part ---------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("value\n" + "\n".join(str(i) for i in range(60)))
    return path


@pytest.mark.parametrize(("learn", "taught"), [(1, 1), (4, 4), (0.5, 3), (0.99, 5), (0.01, 1)])
def test_split_never_scores_what_it_learned_from(log, learn, taught):
    parts = split(read_stream(log, horizon=10), learn)
    later = np.concatenate([batch.values for batch in parts.later])
    assert parts.learned.tolist() == np.arange(10.0 * taught).reshape(-1, 10).tolist()
    assert later.tolist() == np.arange(10.0 * taught, 60).reshape(-1, 10).tolist()


@pytest.mark.parametrize("learn", [0, -1, 0.0, 1.0, 1.5, True, "half"])
def test_bad_share(log, learn):
    with pytest.raises(ParameterError, match="learn"):
        split(read_stream(log, horizon=10), learn)


@pytest.mark.parametrize("learn", [7, 100])
def test_nothing_left_to_score_on(log, learn):
    with pytest.raises(StreamError, match="leaves none"):
        split(read_stream(log, horizon=10), learn)


def test_earlier_means_earlier_in_time(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "year,value\n" + "".join(f"{year},{i}\n" for year in (2024, 2023, 2022) for i in range(4))
    )
    with pytest.raises(StreamError, match="order of time"):
        list(split(read_stream(path, horizon=2, time="year"), 2).later)
    assert split(read_stream(path, horizon=2, time=""), 2).learned.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    path.write_text("episode,time,value\n" + "a,1,0\na,5,1\nb,2,2\nb,3,3\nc,4,0\nc,4,0\n")
    parts = split(read_stream(path), 2)  # overlapping is fine, as long as they begin in order
    assert [batch.ids for batch in parts.later] == [["c"]]


def test_pooled_priors_are_one_object(log):
    parts = split(read_stream(log, horizon=10), 2)
    assert [prior.mean for prior in parts.priors()] == [5.0 + i for i in range(10)]
    pooled = parts.priors(pooled=True)
    assert {id(prior) for prior in pooled} == {id(pooled[0])}
    assert pooled[0].mean == 9.5
    assert stage_priors(read_stream(log, horizon=10))[0].mean == 25.0


# --- simulation and benchmarks -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LDPOptimalStopper, StaticStopper, SingleThresholdStopper])
def test_simulation_agrees_with_the_oracle(kind):
    instance = [
        scipy.stats.uniform(),
        0.25,
        scipy.stats.bernoulli(0.5),
        scipy.stats.beta(2, 5),
        scipy.stats.uniform(),
    ]
    stopper = kind(instance, 1.5)
    drawn, exact = simulate(stopper, episodes=100_000, generator=9), evaluate_policy(stopper, instance)
    # Rewards lie in [0, 1] and every share is a mean of indicators: Hoeffding at 1e-7 each, 8 figures.
    margin = math.sqrt(math.log(2e7) / 200_000)
    assert drawn.mean == pytest.approx(exact.mean, abs=margin)
    assert drawn.stop_law.tolist() == pytest.approx(exact.stop_law.tolist(), abs=margin)
    assert drawn.mean_stop == pytest.approx(exact.mean_stop, abs=5 * margin)
    assert drawn.interval_method == "normal"
    assert drawn.interval.high - drawn.interval.low == pytest.approx(
        2 * 1.96 * math.sqrt(exact.variance / 1e5), rel=1e-4
    )


def test_simulation_is_reproducible_and_takes_other_priors():
    stopper = LDPOptimalStopper(UNIFORMS, 1.0)
    assert (
        simulate(stopper, episodes=50, generator=1).rewards.tolist()
        == simulate(stopper, episodes=50, generator=1).rewards.tolist()
    )
    assert simulate(stopper, [2.0] * 10, episodes=50).mean == 2.0


def test_an_infinite_variance_gets_no_normal_interval():
    drawn = simulate(LDPOptimalStopper([scipy.stats.pareto(1.5)] * 3, 1.0), episodes=200)
    assert drawn.interval_method == "bootstrap"
    assert drawn.interval.low < drawn.mean < drawn.interval.high


@pytest.mark.parametrize("episodes", [0, -1, 1.5, True])
def test_bad_number_of_episodes(episodes):
    with pytest.raises(ParameterError, match="episodes"):
        simulate(LDPOptimalStopper(UNIFORMS, 1.0), episodes=episodes)


def test_wrong_number_of_priors():
    with pytest.raises(ParameterError, match="3 priors"):
        simulate(LDPOptimalStopper(UNIFORMS, 1.0), [1.0] * 3)
    with pytest.raises(ParameterError, match="3 priors"):
        evaluate_policy(LDPOptimalStopper(UNIFORMS, 1.0), [1.0] * 3)


def test_benchmarks_bracket_every_agent():
    v, m = benchmarks.online(UNIFORMS), benchmarks.prophet(UNIFORMS)
    assert m == pytest.approx(10 / 11, rel=1e-12)
    assert v == pytest.approx(0.861098212205711971, rel=1e-13)
    for agent in _agents().values():
        assert agent.value < v < m


def test_progress_stays_out_of_a_pipe(episodes, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    replay_many(episodes, _agents(), progress=True)
    assert shown.getvalue() == ""
