"""What a check in Python answers: a plain verdict counts, and whatever only looks like one, or was forgotten, decides nothing."""

import functools
import re

import pytest
from judging import TOOLS, dialogue

from pytest_mapsat.judges import Finding, JudgedDialogue, evaluate
from pytest_mapsat.model import PythonCheck
from pytest_mapsat.registry import added_checks, check, exchange


@pytest.fixture(autouse=True)
def registry():
    former = exchange({})
    yield
    exchange(former)


def finding_of(function):
    check(name="mine")(function)
    return evaluate(PythonCheck(kind="python", name="mine"), JudgedDialogue(dialogue("All done."), TOOLS))


def forgets(function):
    check(name="mine")(function)
    return added_checks()["mine"].shape.forgets


class Truth:
    """Something like numpy's bool: it is true or false, and no bool."""

    def __bool__(self):
        return False


def returning(value):
    def judged(episode):
        return value

    return judged


@pytest.mark.parametrize(
    ("value", "passed", "told"),
    [
        (True, True, "the check mine passes"),
        (False, False, "the check mine returned False"),
        (Finding(True, "it is so"), True, "it is so"),
        (Finding(False, "it is not"), False, "it is not"),
        (Finding(None, "nobody knows"), None, "nobody knows"),
    ],
)
def test_a_bool_or_a_finding_counts_as_it_is(value, passed, told):
    finding = finding_of(returning(value))
    assert (finding.passed, finding.why, finding.broken) == (passed, told, False)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "None"),
        (0, "int"),
        (1, "int"),
        ("", "str"),
        ("no", "str"),
        ([], "list"),
        (NotImplemented, "NotImplementedType"),
        (re.search("d", "done"), "re.Match"),
        (Truth(), "test_python_check_answers.Truth"),
        ((each for each in ()), "generator"),
        (lambda: True, "function"),
        (AssertionError("no"), "AssertionError"),
        (Finding(1, "it is so"), "a Finding with int in passed"),
        (Finding(re.search("d", "done"), "it is so"), "a Finding with Match in passed"),
    ],
)
def test_what_only_looks_like_an_answer_is_the_judges_error_and_never_a_pass(value, told):
    finding = finding_of(returning(value))
    assert (finding.passed, finding.broken) == (None, True)
    assert finding.why == (
        f"the check mine returned {told}, expected True, False or a Finding: write assert, or return bool(...)"
    )


def asserts(episode):
    assert episode.replies


def raises_on_a_branch(episode):
    if not episode.replies:
        raise AssertionError("no reply")


def asks_another(episode):
    asserts(episode)


def returns_early(episode):
    if episode.query:
        return
    assert episode.replies


def returns_none_and_asserts(episode):
    assert episode.replies
    return None  # noqa: RET501, PLR1711


def has_a_helper_that_returns(episode):
    def count():
        return len(episode.replies)

    assert count()


@pytest.mark.parametrize(
    "function",
    [asserts, raises_on_a_branch, asks_another, returns_early, returns_none_and_asserts, has_a_helper_that_returns],
)
def test_none_passes_where_no_value_was_meant(function):
    finding = finding_of(function)
    assert (finding.passed, finding.why) == (True, "the check mine passes")
    assert forgets(function) == ""


def falls_off_the_end(episode):  # noqa: RET503
    for reply in episode.replies:
        if "never" in reply:
            return True


def returns_in_a_block(episode):
    with pytest.raises(KeyError):
        raise KeyError
    try:
        return re.search("nothing of the kind", episode.query)
    finally:
        pass


def drops_the_answer(function):
    @functools.wraps(function)
    def inner(episode):
        function(episode)

    return inner


def in_a_wrapper(episode):
    return "All" in episode.replies[0]


@pytest.mark.parametrize(
    "function",
    [falls_off_the_end, returns_in_a_block, drops_the_answer(in_a_wrapper), lambda episode: re.search("x", "y")],
)
def test_none_in_place_of_a_value_is_the_judges_error(function):
    finding = finding_of(function)
    assert (finding.passed, finding.broken) == (None, True)
    assert finding.why.startswith("the check mine returned None, expected True, False or a Finding")


def compares(episode):
    """Forgets an assert."""
    episode.output.get("total") == 3  # noqa: B015


def compares_in_a_branch(episode):
    assert episode.replies
    if episode.query:
        "All" in episode.replies[0] and not episode.calls


def asks_all(episode):
    all(reply for reply in episode.replies)


def denies(episode):
    not episode.replies  # noqa: B018


def does_nothing(episode):
    """Says what it would check."""


def looks(episode):
    episode.replies  # noqa: B018


def says_true(episode):
    return True


def only_defines(episode):
    def inner():
        assert episode.replies

    class Inner:
        assert inner


FORGOTTEN = "neither asserts, raises nor calls"
LOST = "what comes of it is lost: write assert"


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (compares, LOST),
        (compares_in_a_branch, LOST),
        (asks_all, LOST),
        (denies, LOST),
        (does_nothing, FORGOTTEN),
        (looks, FORGOTTEN),
        (says_true, FORGOTTEN),
        (only_defines, FORGOTTEN),
    ],
)
def test_a_check_in_which_nothing_can_fail_is_told_by_its_source_and_passes_nothing(function, told):
    assert told in forgets(function)
    if function is not says_true:
        finding = finding_of(function)
        assert (finding.passed, finding.broken) == (None, True)
        assert finding.why == f"the check mine decides nothing: {forgets(function)}"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('assert (episode.calls, "no call was made")', FORGOTTEN),
        ('assert "the reply is polite"', FORGOTTEN),
        ("assert True", FORGOTTEN),
        ("assert ()", ""),
        ("assert False", ""),
        ("assert not episode.calls", ""),
        ("if episode.calls: return None", FORGOTTEN),
        ("return 0", ""),
    ],
)
@pytest.mark.filterwarnings("ignore:assertion is always true")
def test_an_assertion_that_always_holds_is_none(tmp_path, body, told):
    path, made = tmp_path / "rules.py", {}
    path.write_text(f"def judged(episode):\n    {body}\n")
    exec(compile(path.read_text(), str(path), "exec"), made)
    assert told in forgets(made["judged"])
    assert bool(told) == bool(forgets(made["judged"]))


def test_the_line_of_a_forgotten_assertion_is_that_of_the_file():
    line = compares.__code__.co_firstlineno + 2
    assert forgets(compares) == f"line {line} compares, and what comes of it is lost: write assert"


def fails_with_false(episode):
    return False


def calls_and_compares(episode):
    episode.replies == () or asserts(episode)


@pytest.mark.parametrize("function", [fails_with_false, calls_and_compares, in_a_wrapper])
def test_a_check_in_which_something_can_fail_forgets_nothing(function):
    assert forgets(function) == ""


def test_of_a_check_without_a_source_nothing_is_known_but_its_answer():
    made = {}
    exec("def judged(episode):\n    episode.query == 1\n", made)
    assert forgets(made["judged"]) == ""
    assert finding_of(made["judged"]).passed is True
