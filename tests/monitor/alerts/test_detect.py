from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from tests.monitor.alerts.logs import HITS, START, alert_settings, at, rates, row, table
from workbench.components.embedding.static import StaticEmbedder
from workbench.monitor.alerts.detect import HOLDS, QUIET, detect, iso
from workbench.monitor.alerts.settings import AlertSettings
from workbench.monitor.alerts.signals import thinned

NOT_LEARNED = {"faithfulness": {"active": False}, "similarity": {"active": False}, "drift": False, "off_topic": False}


def settings(**values):
    return alert_settings({"refusals": {"limit": 0.1}, **values})


def day(number):
    return int(pd.Timestamp(START + timedelta(days=number)).value)


def alerts(watch, name):
    return [one for one in watch.raised if one.alert == name]


def test_a_rate_above_its_limit_is_raised_with_its_evidence_its_value_and_the_change_before_it() -> None:
    rows = rates([0.05] * 10 + [0.4] * 5)
    for number, one in enumerate(rows):
        one["versions"] = {"index": "1" if number < 400 else "2", "prompt": "p" if number < 998 else "q"}
    watch = detect(table(rows), settings())
    (one,) = alerts(watch, "refusals")
    assert abs(one.since - day(10)) < day(0.4) - day(0)
    assert day(10) < one.raised < day(12)
    assert one.resolved is None
    # The change is estimated from the same values.
    assert one.low < one.value < one.high
    assert one.value > 0.3
    assert one.limit == pytest.approx(0.1)
    assert one.change == f"prompt changed from p to q at {iso(day(9.98))}"
    assert one.count == sum(one.since <= int(pd.Timestamp(other["time"]).value) <= one.raised for other in rows)
    refused = {other["id"] for other in rows if other["refused"]}
    assert len(one.evidence) == 10
    assert set(one.evidence) <= refused


def test_it_is_resolved_when_the_test_shows_that_the_limit_holds_again() -> None:
    watch = detect(table(rates([0.02] * 10 + [0.5] * 4 + [0.0] * 20)), settings(quiet_days=60))
    (one,) = alerts(watch, "refusals")
    assert (one.reason, day(14) < one.resolved < day(24)) == (HOLDS, True)


def test_it_is_resolved_after_the_quiet_time_and_continued_within_it() -> None:
    # At the limit neither test ever says anything.
    quiet = rates([0.02] * 10 + [0.5] * 3 + [0.1] * 10)
    (one,) = alerts(detect(table(quiet), settings(quiet_days=3)), "refusals")
    assert one.reason == QUIET
    assert day(15) < one.resolved < day(18)
    again = rates([0.02] * 10 + [0.5] * 3 + [0.1] * 4 + [0.6] * 2)
    (one,) = alerts(detect(table(again), settings(quiet_days=3)), "refusals")
    assert one.resolved is None
    assert day(10) < one.raised < day(11)
    # After the quiet time it is another.
    later = rates([0.02] * 10 + [0.5] * 2 + [0.05] * 14 + [0.6] * 2)
    assert [one.resolved is None for one in alerts(detect(table(later), settings(quiet_days=2)), "refusals")] == [False, True]


def test_every_prefix_of_a_log_decides_as_the_whole() -> None:
    rows = rates([0.03] * 9 + [0.35] * 4 + [0.0] * 12, seed=3)
    (whole,) = alerts(detect(table(rows), settings()), "refusals")
    for number in range(100, len(rows), 150):
        part = alerts(detect(table(rows[:number]), settings()), "refusals")
        until = int(pd.Timestamp(rows[number - 1]["time"]).value)
        assert bool(part) == (whole.raised <= until)
        if part:
            assert (part[0].raised, part[0].evidence) == (whole.raised, whole.evidence)
            assert part[0].resolved == (whole.resolved if whole.resolved <= until else None)


def test_a_learned_limit_is_the_bound_of_the_reference_and_nothing_is_tested_before() -> None:
    rows = rates([0.05] * 7 + [0.3] * 5)
    watch = detect(table(rows), AlertSettings())
    tested = {one.alert: one for one in watch.tested}
    share = np.mean([one["refused"] for one in rows[:700]])
    assert share * 1.25 < tested["refusals"].limit < share * 1.25 + 0.06
    assert tested["refusals"].observations == 500
    (one,) = alerts(watch, "refusals")
    assert one.raised > day(7)
    early = {one.alert: one for one in detect(table(rows[:600]), AlertSettings()).tested}
    assert early["refusals"].untested == "the reference period is not over"
    assert tested["cost"].untested == "no question has this value"


def test_a_conversation_of_bad_answers_counts_once() -> None:
    rows = rates([0.02] * 10)
    many = [row(5000 + number, 14000 + number / 10, refused=True) for number in range(60)]
    assert alerts(detect(table(rows + many), settings()), "refusals")
    talk = [{**one, "session": "s"} for one in many]
    assert not alerts(detect(table(rows + talk), settings(), until=day(11)), "refusals")


def test_latency_cost_and_similarity_are_raised_in_their_own_units() -> None:
    random = np.random.default_rng(4)
    rows = []
    for number in range(1400):
        worse = number >= 1000
        score = 0.7 + 0.05 * random.normal() - 0.1 * worse
        seconds = float(random.lognormal()) * (3 if worse else 1)
        rows.append(row(number, number * 14.4, seconds=seconds, cost=seconds / 100, hits=[{**HITS[0], "score": score}]))
    watch = detect(table(rows), alert_settings({"latency": {"limit": 5}}))
    latency, cost, similarity = (alerts(watch, name)[0] for name in ("latency", "cost", "similarity"))
    assert latency.about == "share of answers slower than 5 s"
    # The reference's share above its limit is learned.
    assert latency.limit == pytest.approx(0.05)
    assert latency.value > 0.1
    assert cost.limit >= 0.05
    assert 0.55 < similarity.low < similarity.value < similarity.high < similarity.limit < 0.7


@pytest.mark.parametrize("outlier", [100.0, 1e308, -1e308])
def test_one_odd_score_of_the_reference_hides_no_fall(outlier) -> None:
    random = np.random.default_rng(4)
    scores = [random.normal(0.6 if number < 1000 else 0.4, 0.05) for number in range(1400)]
    scores[100] = outlier
    rows = [row(number, number * 14.4, hits=[{**HITS[0], "score": score}]) for number, score in enumerate(scores)]
    (one,) = alerts(detect(table(rows), AlertSettings()), "similarity")
    assert one.count < 100


@pytest.mark.parametrize("fallen", [0.08, 0.3])
def test_a_similarity_below_all_of_the_reference_is_reported_as_it_is(fallen) -> None:
    random = np.random.default_rng(4)
    scores = [float(np.clip(random.normal(0.6 if number < 1000 else fallen, 0.1), 0, 1)) for number in range(1200)]
    rows = [row(number, number * 14.4, hits=[{**HITS[0], "score": score}]) for number, score in enumerate(scores)]
    (one,) = alerts(detect(table(rows), AlertSettings()), "similarity")
    times = [int(pd.Timestamp(each["time"]).value) for each in rows]
    own = [score for score, time in zip(scores, times, strict=True) if one.since <= time <= one.raised]
    assert (len(own), np.mean(own)) == (one.count, pytest.approx(one.value))
    assert one.value < min(scores[:700]) if fallen < 0.1 else one.value < 0.4
    assert (one.low is None and one.high is None) or one.low <= one.value <= one.high


def test_only_uniformly_sampled_judgements_are_bet_on_and_others_are_left_out_with_a_count() -> None:
    rows = [row(number, number) for number in range(600)]
    judged = pd.DataFrame(
        {
            "id": [f"q{number}" for number in range(600)],
            "metric": "faithfulness",
            "score": 0.3,
            "uniform": False,
            "time": [at(number + 5) for number in range(600)],
        }
    )
    assert not alerts(detect(table(rows), AlertSettings(), judged, until=day(2)), "faithfulness")
    uniform = judged.assign(uniform=True)
    watch = detect(table(rows), AlertSettings(), uniform, until=day(2))
    (one,) = alerts(watch, "faithfulness")
    assert (one.value, one.limit) == (pytest.approx(0.3), pytest.approx(0.8))
    assert one.low < 0.3 < one.high < 0.8
    odd = uniform.assign(id=["unknown", *uniform["id"][1:]], score=[0.3, 7.0, None, *uniform["score"][3:]])
    left_out = detect(table(rows), AlertSettings(), odd, until=day(2)).left_out
    assert left_out == {"a score of an unknown question": 1, "no score within 0 and 1": 2}


def test_refusals_that_are_not_logged_are_those_of_the_uniform_sample() -> None:
    rows = [row(number, number * 10, refused=False if number == 599 else None) for number in range(600)]
    ids = [f"q{number}" for number in range(600)]
    judged = pd.DataFrame({"id": ids, "metric": "refusal_rate", "score": 1.0, "uniform": True, "time": [one["time"] for one in rows]})
    (one,) = alerts(detect(table(rows), settings(), judged), "refusals")
    assert one.count < 20
    assert one.evidence[0] == f"q{one.count - 1}"
    assert not alerts(detect(table(rows), settings(), judged.assign(uniform=False)), "refusals")
    logged = [{**one, "refused": False} for one in rows]
    assert not alerts(detect(table(logged), settings(), judged), "refusals")


def test_an_alert_is_since_the_first_question_of_its_conversations_and_its_evidence_is_not_earlier() -> None:
    rows = [row(number, number * 5, seconds=9 if number >= 1000 else 1, session=f"s{number // 3}") for number in range(1500)]
    (one,) = alerts(detect(table(rows), alert_settings({"latency": {"limit": 5}})), "latency")
    times = {other["id"]: int(pd.Timestamp(other["time"]).value) for other in rows}
    assert one.since == times["q999"]
    assert all(one.since <= times[name] <= one.raised for name in one.evidence)


def test_an_alert_that_is_not_tested_says_why() -> None:
    rows = rates([0.05] * 9)
    for number, one in enumerate(rows):
        one |= {"seconds": 1.0, "feedback": [{"kind": "thumb", "value": 1}] if number < 20 else None, "hits": HITS}
        one |= {"cost": 1.0 if number > 800 else None, "refused": one["refused"] if number < 700 else None}
    found = {one.alert: one for one in detect(table(rows), AlertSettings()).tested}
    few = "the reference period has only {} with a value, and a learned limit needs 50"
    expected = {
        "feedback": few.format("20 conversations"),
        "cost": few.format("0 conversations"),
        "faithfulness": "no answer was judged",
        "refusals": "no conversation has a value since the reference period",
        "similarity": "all values of the reference period are equal",
        "latency": "",
    }
    assert {name: found[name].untested for name in expected} == expected


def asked_again(days, lost):
    """The same 50 questions again and again, 200 a day, of which every twentieth wording has no results, and from a day on further ones."""
    texts = [f"what is fee {number}" for number in range(50)]
    rows = []
    for number in range(200 * days):
        question, day_ = texts[number * 7 % 50], number // 200
        empty = number % 20 == 0 or (day_ >= 10 and number % 100 < lost)
        rows.append(row(number, number * 7.2, query=question, hits=[] if empty else HITS))
    return table(rows)


def test_lost_results_are_raised_against_their_share_of_the_reference_and_not_by_one_question() -> None:
    assert alerts(detect(asked_again(20, 0), AlertSettings()), "lost_results") == []
    (one,) = alerts(detect(asked_again(20, 40), AlertSettings()), "lost_results")
    assert day(10) < one.raised < day(12)
    assert one.low < one.value <= one.high
    assert 0.05 < one.limit < 0.15
    limited = alert_settings({"lost_results": {"limit": 0.9}})
    assert alerts(detect(asked_again(20, 40), limited), "lost_results") == []


def test_all_versions_that_changed_together_are_named() -> None:
    old, new = {"embedder": "a", "index": "1", "prompt": "p"}, {"embedder": "b", "index": "2", "prompt": "p"}
    rows = [row(number, number * 10, versions=old if number < 20 else new) for number in range(21)]
    change = f"embedder changed from a to b and index changed from 1 to 2 at {at(200)}"
    assert [one.change for one in detect(table(rows), AlertSettings()).raised] == [change]


def test_changed_vectors_are_raised_at_once_and_resolved_after_the_quiet_time() -> None:
    rows = [row(number, number * 10, versions={"embedder": "a" if number < 20 else "b"}) for number in range(21)]
    watch = detect(table(rows), AlertSettings())
    assert alerts(watch, "vectors")[0].change == f"embedder changed from a to b at {at(200)}"
    later = detect(table(rows), AlertSettings(), until=day(9))
    assert {one.resolved is not None for one in later.raised} == {True}


def test_new_and_off_topic_subjects_are_raised_as_drift() -> None:
    def encode(texts):
        random = np.random.default_rng(0)
        noise = random.normal(size=(1000, 6)) / 6
        centre = {"known": [1.0, 1, 0, 0, 0, 0], "new": [1.0, 0, 1, 0, 0, 0], "off": [-1.0, 0, 0, 0, 0, 1]}
        return np.array([np.array(centre[text.split()[0]]) + noise[int(text.split()[1]) % 1000] for text in texts], dtype=np.float32)

    def asked(kind):
        return [
            row(number, number * 36, query=f"{kind if number > 300 and number % 3 == 0 else 'known'} {number}") for number in range(700)
        ]

    short = {"drift": True, "off_topic": True}
    names = {
        kind: {one.alert for one in detect(table(asked(kind)), alert_settings(short), encode=encode).raised}
        for kind in ("known", "new", "off")
    }
    assert names == {"known": set(), "new": {"drift", "off_topic"} & names["new"] | {"drift"}, "off": {"drift", "off_topic"}}
    assert {one.untested for one in detect(table(asked("known")), AlertSettings()).tested if one.alert == "drift"} == {"no embedder"}


def test_a_clock_that_goes_back_and_rows_out_of_order_change_nothing() -> None:
    rows = rates([0.03] * 9 + [0.35] * 4, seed=3)
    expected = alerts(detect(table(rows), settings(reference_from=START)), "refusals")
    shuffled = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    odd = [row(99_999, -1e7), row(99_998, 0, time="2200-01-01T00:00:00Z"), rows[0]]
    found = detect(table(shuffled + odd), settings(reference_from=START), until=day(13))
    assert [one.raised for one in alerts(found, "refusals")] == [one.raised for one in expected]
    assert found.left_out == {"a repeated id": 1, "after the present": 1}


def sampled(head, daily):
    """Rows of a day's questions of which 5 % have no results: those without are all logged, of the others a share `head`."""
    random = np.random.default_rng(5)
    for day_, (share, number) in enumerate(zip(head, daily, strict=True)):
        for place in range(number):
            empty = random.random() < 0.05
            if empty or random.random() < share:
                values = {"hits": [] if empty else HITS, "probability": 1.0 if empty or share == 1 else share}
                yield row(day_ * 10_000 + place, 1440 * (day_ + place / number), **values)


def test_rows_of_which_more_were_logged_are_thinned_so_that_a_log_that_keeps_all_bad_ones_raises_nothing() -> None:
    head, daily = [1.0] * 8 + [0.1] * 6, [100] * 8 + [600] * 6
    rows = [*sampled(head, daily)]
    watch = detect(table(rows), AlertSettings())
    assert watch.raised == ()
    (one,) = (one for one in watch.tested if one.alert == "no_results")
    assert one.limit < 0.3
    reason = "logged with a higher probability than others, and thinned to the lowest"
    assert watch.left_out[reason] == pytest.approx(0.9 * (800 + 0.05 * 3600), rel=0.1)
    # Without the probabilities the share of logged questions without results rises tenfold.
    assert alerts(detect(table([{**each, "probability": None} for each in rows]), AlertSettings()), "no_results")


def test_a_few_rows_with_an_odd_probability_or_an_old_time_hide_no_alert() -> None:
    rows = rates([0.05] * 10 + [0.4] * 5)
    (usual,) = alerts(detect(table(rows), AlertSettings()), "refusals")
    odd = [row(9000, 10, probability=1e-9)]
    old = [{**row(9100 + number, number), "time": f"2001-01-02T00:{number % 60:02}:00Z", "refused": True} for number in range(100)]
    older = [{**one, "id": f"x{one['id']}", "time": one["time"].replace("2001", "2000")} for one in old]
    for more in (odd, old, [*older, *old]):
        watch = detect(table([*more, *rows]), AlertSettings())
        (one,) = alerts(watch, "refusals")
        assert (one.raised, one.since) == (usual.raised, usual.since)
        before = [number for why, number in watch.left_out.items() if "28 days of silence" in why]
        assert before == ([len(more)] if more is not odd else [])


def test_tests_of_questions_that_lack_users_say_how_many_there_are() -> None:
    def reason(users: int, days: int) -> str:
        rows = [row(number, number * 14.4, user=f"u{number % users}") for number in range(100 * days)]
        encode = StaticEmbedder().encode
        (one,) = (
            one for one in detect(table(rows), AlertSettings(), encode=lambda texts: encode(texts, "query")).tested if one.alert == "drift"
        )
        return one.untested

    assert reason(150, 15) == "the reference period has questions of 150 users, and a test needs 200"
    assert reason(210, 13) == "no week after the reference period is over"
    assert reason(210, 15) == ""


def test_a_log_of_equal_probabilities_is_not_thinned_and_decides_as_one_without() -> None:
    rows = rates([0.03] * 9 + [0.35] * 4, seed=3)
    expected = detect(table(rows), settings())
    assert detect(table([{**each, "probability": 0.2} for each in rows]), settings()) == expected
    assert expected.left_out == {}


def test_a_growing_log_keeps_the_same_thinned_rows_with_whole_sessions_and_scores_of_others_are_not_unknown() -> None:
    rows = [row(number, number, session=f"s{number // 4}", probability=0.2 if number % 40 < 4 else 1.0) for number in range(2000)]
    kept, part = thinned(table(rows)), thinned(table(rows[:1000]))
    assert len(kept) == pytest.approx(200 + 0.2 * 1800, rel=0.15)
    assert part["id"].tolist() == kept["id"].tolist()[: len(part)]
    assert set(kept.groupby("session").size()) == {4}
    columns = {"metric": "faithfulness", "score": 0.9, "uniform": True, "time": at(0)}
    judged = pd.DataFrame({"id": [one["id"] for one in rows], **columns})
    watch = detect(table(rows), AlertSettings(), judged)
    assert "a score of an unknown question" not in watch.left_out
    (tested,) = (one for one in watch.tested if one.alert == "faithfulness")
    assert tested.observations <= len(kept) / 4


def test_an_empty_log_raises_nothing() -> None:
    assert detect(table([]), AlertSettings()).raised == ()
