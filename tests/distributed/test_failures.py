"""Who is to blame, decided on plain data. Oracle: what happened, by construction. No ranks."""

import pickle

import pytest

from fuseshard.distributed.processes.failures import (
    DistributedError,
    RankFailure,
    first_failure,
    in_order_of_blame,
    out_of_time,
)

CLOSED = "RuntimeError: Connection closed by peer [127.0.0.1]:4321"


def failure(rank, kind, time_s, reason, **more):
    return RankFailure(rank=rank, kind=kind, time_s=time_s, reason=reason, **more)


@pytest.mark.parametrize(
    "reason",
    [
        CLOSED,
        "RuntimeError: [pair.cc:537] Read error [127.0.0.1]:1941: Connection reset by peer.",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
    ],
)
def test_a_rank_that_lost_its_peer_is_a_victim(reason):
    assert failure(0, "raised", 1.0, reason).is_victim


@pytest.mark.parametrize("reason", ["ValueError: boom", "RuntimeError: shapes differ"])
def test_a_rank_with_a_reason_of_its_own_is_no_victim(reason):
    assert not failure(0, "raised", 1.0, reason).is_victim


def test_a_death_is_never_a_victims_even_if_its_words_are():
    assert not failure(0, "died", 1.0, "killed by SIGABRT after: Broken pipe").is_victim


def test_the_culprit_leads_though_the_victim_spoke_first():
    victim = failure(0, "raised", 1.0, CLOSED)
    culprit = failure(1, "died", 1.1, "killed by SIGKILL")
    assert in_order_of_blame([victim, culprit]) == [culprit, victim]


def test_of_two_with_reasons_of_their_own_the_first_in_time_leads():
    late = failure(0, "raised", 2.0, "ValueError: late")
    early = failure(1, "raised", 1.0, "ValueError: early")
    stopped = failure(2, "stopped", 0.5, "still running")
    assert in_order_of_blame([late, stopped, early]) == [early, late, stopped]


def test_the_message_leads_with_the_culprit_and_ends_with_the_others():
    error = first_failure(
        [
            failure(0, "stopped", 3.0, "still running", details="It stood here"),
            failure(2, "raised", 1.5, "ValueError: boom", details="Traceback ..."),
        ],
        world_size=3,
        started_s=1.0,
    )
    paragraphs = str(error).split("\n\n")
    assert paragraphs == [
        "rank 2 of 3 failed first, 0.5 s after the start: ValueError: boom",
        "rank 2 raised: ValueError: boom\n  Traceback ...",
        "rank 0 was stopped: still running\n  It stood here",
        "rank 1 had its result",
    ]
    assert (error.rank, error.finished) == (2, (1,))


def test_the_last_words_of_a_dead_rank_are_in_the_message():
    dead = failure(0, "died", 1.0, "killed by SIGSEGV", stderr="first\nlast word\n")
    raised = failure(1, "raised", 1.0, "ValueError: boom", stderr="a warning")
    message = str(first_failure([dead, raised], world_size=2, started_s=0.0))
    assert "    last word" in message
    assert "a warning" not in message


def test_a_timeout_names_the_ranks_that_still_ran():
    running = [failure(rank, "stopped", 5.0, "still running") for rank in (2, 0)]
    error = out_of_time(running, world_size=3, timeout_s=4)
    assert str(error).startswith("timed out: after 4 s ranks 0, 2 of 3 still ran")
    assert (error.rank, error.finished) == (None, (1,))


def test_the_error_survives_pickling():
    error = first_failure(
        [failure(0, "raised", 1.0, "ValueError: boom")], world_size=2, started_s=0
    )
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, DistributedError)
    assert (str(copy), copy.rank, copy.failures) == (str(error), error.rank, error.failures)
