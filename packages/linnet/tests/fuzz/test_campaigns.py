"""A share of every fuzzing campaign; `nox -s fuzz` runs them whole."""

from __future__ import annotations

from collections import Counter

import pytest
from linnet_helpers.fuzzing.campaigns import CAMPAIGNS, Campaign
from linnet_helpers.fuzzing.obligations import problem
from linnet_helpers.fuzzing.runner import main, run_campaign
from linnet_helpers.fuzzing.share import seeds

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("campaign", CAMPAIGNS, ids=lambda c: c.name)
def test_no_case_of_a_campaign_fails(campaign: Campaign, part: int) -> None:
    counts: Counter[str] = Counter()
    for seed in seeds(campaign.count)[part::PARTS]:
        counts.update(campaign.case(seed))
    assert counts["cases"] >= 5


def test_most_true_obligations_are_proved_and_most_false_ones_shown() -> None:
    counts: Counter[str] = Counter()
    (campaign,) = [one for one in CAMPAIGNS if one.name.startswith("prover")]
    for seed in range(1, 400):
        counts.update(campaign.case(seed))
    assert counts["proved"] > 0.5 * counts["true"]
    assert counts["shown"] > 0.7 * counts["false"]
    assert len({repr(problem(seed)) for seed in range(50)}) > 40


def test_a_failing_case_is_reported_with_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    def case(seed: int) -> Counter[str]:
        assert seed != 7, "seven"
        return Counter(cases=1)

    found = run_campaign(Campaign("picky", 20, case), range(1, 21), jobs=1)
    assert (found.cases, [seed for seed, _ in found.failures]) == (20, [7])
    assert "AssertionError: seven" in found.failures[0][1]
    assert main(["--share", "0.002", "--jobs", "1", "--only", "bytes"]) == 0
    shown = capsys.readouterr().out
    assert "| bytes | 20 | 0 |" in shown
