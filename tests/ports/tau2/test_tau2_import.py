"""The importer of tau2-bench: the domain mock in every detail, a repository of several domains, and files that are not what they should be."""

import json
import re
import shutil
from importlib.resources import files

import pytest
import tau2_layout
from tau2_play import Played, reference
from tests_data import data_dir

from pytest_mapsat.cli import main
from pytest_mapsat.model import SuiteError, UsageError
from pytest_mapsat.ports.tau2 import tau_calls
from pytest_mapsat.ports.tau2.importer import first_person, import_tau2

DATABASE = {
    "tasks": {"task_1": {"task_id": "task_1", "title": "Sweep", "description": None, "status": "pending"}},
    "users": {"user_1": {"user_id": "user_1", "name": "Ada", "tasks": ["task_1"]}},
}
INBOX = {"notifications": {}}


def task(task_id="a", **criteria):
    action = {"action_id": "1", "name": "update_task_status", "arguments": {"task_id": "task_1", "status": "completed"}}
    told = {"persona": None, "instructions": "You want to finish task_1."}
    return {"id": task_id, "user_scenario": told, "evaluation_criteria": {"actions": [action], **criteria}}


def published(tmp_path, *tasks, database=None, text=None):
    databases = {"db": DATABASE if database is None else database, "user_db": INBOX}
    folder = tau2_layout.write_domain(tmp_path / "mock", list(tasks), databases, {"policy.md": "Be kind.\n"})
    if text is not None:
        (folder / "tasks.json").write_text(text, encoding="utf-8")
    return folder


def test_the_folder_that_the_readme_shows_is_a_suite_whose_oracle_earns_the_reward(tmp_path):
    page = files("pytest_mapsat.ports.tau2").joinpath("README.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`(\w+\.\w+)`:\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    (tmp_path / "mock").mkdir()
    for name, text in shown.items():
        (tmp_path / "mock" / name).write_text(text, encoding="utf-8")
    report = import_tau2(tmp_path / "mock", tmp_path / "suite")
    assert (report.cases, report.not_carried) == (1, {})
    team = Played(tmp_path / "suite")
    (case,) = team.cases.values()
    words = " ".join(turn.say for turn in case.truth.oracle)
    assert team.card(case, team.episode(case, reference(case), say=words)).metrics["tau_reward"] == 1.0
    assert team.card(case, team.episode(case, [], say=words)).metrics["tau_reward"] == 0.0
    (tmp_path / "mock" / "policy.md").unlink()
    with pytest.raises(SuiteError, match=r"policy\.md"):
        import_tau2(tmp_path / "mock", tmp_path / "again")


# -- the real tasks of mock -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    root = tmp_path_factory.mktemp("mock")
    report = import_tau2(tau2_layout.write_mock(root / "published", data_dir()), root / "suite")
    return report, Played(root / "suite")


def test_every_task_of_mock_earns_its_reward_by_its_reference(mock):
    report, team = mock
    assert report.cases == 10
    for case in team.cases.values():
        said = " ".join(turn.say for turn in case.truth.oracle)
        trajectory = team.episode(case, reference(case), say=said)
        assert team.card(case, trajectory).metrics["tau_reward"] == 1.0, case.id
    silent = [case.id for case in team.cases.values() if case.attributes["silent"] == "passes"]
    assert silent == ["mock-create_task_1_nl_eval"]


def test_what_a_reference_lacks_to_hold_its_own_assertions_is_added_and_told(mock):
    report, _ = mock
    told = {note.message for note in report.notes if note.kind == "completed"}
    assert len(told) == 2
    assert any("dismiss_notification {'notification_id': 'notif_1'} is added" in message for message in told)


def test_a_task_begins_where_its_data_calls_and_messages_leave_the_world(mock):
    _, team = mock
    given = team.cases["mock-update_task_with_initialization_data"]
    assert [patch.table for patch in given.world.rows] == ["tasks", "users"]
    history = team.cases["mock-update_task_with_message_history"]
    assert [call.tool for call in history.world.calls] == ["create_task"]
    assert [message.role for message in history.visible.messages] == ["user", "agent"]
    for case in (given, history):
        done = [("update_task_status", {"task_id": "task_2", "status": "completed"})]
        assert team.labels(case, team.episode(case, done))["db"].outcome == "passed"


def test_the_oracle_and_the_user_play_every_task_in_a_run(mock, pytester):
    """The user looks into its inbox, and dismisses what it is asked to dismiss."""
    _, team = mock
    shutil.copytree(team.suite.root, pytester.path / "team")
    result = pytester.runpytest("team", "--mapsat-agent=baseline:oracle", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=10)


def test_new_tasks_are_told_apart_by_what_they_are_and_whose_not_by_their_order(tmp_path):
    both = {**DATABASE["users"], "user_2": {"user_id": "user_2", "name": "Bo", "tasks": []}}
    made = [
        ("create_task", {"user_id": user, "title": title}) for user, title in (("user_1", "Cook"), ("user_2", "Wash"))
    ]
    actions = [{"action_id": "", "name": tool, "arguments": arguments} for tool, arguments in made]
    folder = published(tmp_path, task(actions=actions), database={**DATABASE, "users": both})
    import_tau2(folder, tmp_path / "suite")
    team = Played(tmp_path / "suite")
    (case,) = team.cases.values()
    assert team.labels(case, team.episode(case, made[::-1]))["db"].outcome == "passed"
    for_another = [("create_task", {**arguments, "user_id": "user_1"}) for _, arguments in made]
    assert team.labels(case, team.episode(case, for_another))["db"].outcome == "failed"


@pytest.mark.parametrize(("outcomes", "reward"), [(("passed", "passed"), 1.0), (("passed", "failed"), 0.0)])
def test_what_a_judge_says_of_assertions_in_words_is_part_of_the_reward(tmp_path, outcomes, reward):
    words = ["The agent says that the task is done.", "The agent is kind."]
    folder = published(tmp_path, task(nl_assertions=words, reward_basis=["DB", "NL_ASSERTION"]))
    import_tau2(folder, tmp_path / "suite")
    team = Played(tmp_path / "suite")
    (case,) = team.cases.values()
    trajectory = team.episode(case, reference(case))
    told = team.card(case, trajectory)
    assert (told.metrics["tau_nl"], told.classes["tau_nl"], told.outcome) == (None, "unevaluated", "unevaluated")
    said = dict(zip(("nl-1", "nl-2"), outcomes, strict=True))
    judged = team.card(case, trajectory, said)
    assert (judged.metrics["tau_nl"], judged.metrics["tau_reward"]) == (reward, reward)
    # Nothing that a judge may say mends a wrong end.
    undone = team.card(case, team.episode(case, []))
    assert (undone.metrics["tau_reward"], undone.outcome) == (0.0, "failed")


# -- folders --------------------------------------------------------------------------------------------------------------


def test_a_repository_becomes_a_suite_for_each_domain(tmp_path, capsys):
    domains = tmp_path / "repository" / "data" / "tau2" / "domains"
    published(domains, task())
    shop = {"users": {}, "products": {}, "orders": {}}
    talk = {"id": "0", "user_scenario": {"instructions": "You are Ada."}, "evaluation_criteria": {"actions": []}}
    tau2_layout.write_domain(domains / "retail", [talk], {"db": shop}, {"policy.md": "Sell.\n"})
    (domains / "banking_knowledge").mkdir()
    (domains / "telecom" / "tasks").mkdir(parents=True)
    (domains / ".cache").mkdir()
    assert main(["import", "tau2", str(tmp_path / "repository"), str(tmp_path / "suites")]) == 0
    told = capsys.readouterr().out
    assert "2 cases" in told
    assert "not carried over: 2 domains" in told
    assert "banking_knowledge: the domain is left out: it has no world here" in told
    assert "telecom: the domain is left out: it has no tasks.json" in told
    assert "arguments: strict" in (tmp_path / "suites" / "mock" / "suite.yaml").read_text(encoding="utf-8")
    assert sorted(path.parent.name for path in (tmp_path / "suites").glob("*/suite.yaml")) == ["mock", "retail"]


def test_a_task_says_its_splits_and_its_first_words(tmp_path):
    import_tau2(published(tmp_path, {**task(), "splits": ["base", "train+test"]}), tmp_path / "suite")
    (case,) = Played(tmp_path / "suite").cases.values()
    assert case.attributes == {"base": "yes", "train_test": "yes", "judged": "no", "silent": "fails"}
    assert case.domains == ("mock",)
    assert case.visible.query == "I want to finish task_1."
    assert case.truth.user.prompt == "You want to finish task_1."


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("You want your money back.", "I want my money back."),
        ("If you're told no, you are sad, and yourself to blame.", "If I'm told no, I am sad, and myself to blame."),
        ("Ask whether it was sent to you.", "Ask whether it was sent to me."),
        ("Youth is not yours.", "Youth is not mine."),
    ],
)
def test_what_a_user_is_told_is_said_in_the_first_person(told, said):
    assert first_person(told) == said


# -- what is not as it should be ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"reward_basis": ["DB", "STYLE"]}, "found 'STYLE', expected one of DB, ENV_ASSERTION"),
        (
            {"actions": [{"name": "update_task", "arguments": {}}]},
            "no function 'update_task' (did you mean 'update_task_status'?)",
        ),
        (
            {"env_assertions": [{"env_type": "user", "func_name": "assert_notice", "arguments": {}}]},
            "no assertion 'assert_notice'",
        ),
        (
            {"env_assertions": [{"env_type": "user", "func_name": "__init__", "arguments": {}}]},
            "no assertion '__init__'",
        ),
        ({"action": []}, "is not a known field"),
        ({"actions": "none"}, "expected a list"),
        ({"actions": [{"name": "get_users", "arguments": []}]}, "expected a mapping"),
    ],
)
def test_a_malformed_task_is_left_out_with_its_place_and_reason(tmp_path, wrong, told):
    folder = published(tmp_path, task("good"), task("bad", **wrong))
    report = import_tau2(folder, tmp_path / "suite")
    assert report.cases == 1
    (note,) = [note for note in report.notes if note.kind == "unparsable"]
    assert told in note.message, note
    line = int(note.place.partition("tasks.json:")[2].split()[0])
    assert line >= (folder / "tasks.json").read_text().splitlines().index('        "id": "bad",') - 1


def test_fields_that_no_task_is_known_to_have_are_counted(tmp_path):
    report = import_tau2(published(tmp_path, {**task(), "voice_profile": {"speed": 2}}), tmp_path / "suite")
    assert (report.cases, report.not_carried) == (1, {"tasks' voice_profile": 1})


def test_a_task_that_cannot_begin_and_one_that_is_there_twice_are_left_out(tmp_path):
    stuck = task("stuck")
    gone = {
        "env_type": "assistant",
        "func_name": "update_task_status",
        "arguments": {"task_id": "task_9", "status": "pending"},
    }
    stuck["initial_state"] = {"initialization_actions": [gone]}
    report = import_tau2(published(tmp_path, task(), task(), stuck), tmp_path / "suite")
    assert report.cases == 1
    messages = [note.message for note in report.notes]
    assert any("stands here twice" in message for message in messages)
    assert any("world.calls, call 1, update_task_status, ends as error" in message for message in messages)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"id": 1},\n {"id": ', "is not valid JSON"),
        ('{"cases": []}', "user_scenario: is missing"),
        ("3", "expected a list of tasks"),
        ("[]", "holds no task"),
        ("[1, 2]", "expected a mapping"),
        ("[" * 100 + "]" * 100, "deep"),
        ('[{"id": "x", "evaluation_criteria": NaN}]', "NaN"),
    ],
)
def test_a_file_that_holds_no_tasks_is_refused(tmp_path, text, told):
    folder = published(tmp_path, task(), text=text)
    with pytest.raises(SuiteError, match=told):
        import_tau2(folder, tmp_path / "suite")
    assert not (tmp_path / "suite").exists()


@pytest.mark.parametrize(
    ("database", "told"),
    [
        ({"task": {}, "users": {}}, "has no table 'tasks' (did you mean 'task'?)"),
        ({"tasks": {"task_1": 3}, "users": {}}, "tasks: found 3, expected an object with a task_id of its own"),
        ({"tasks": {"task_1": {"task_id": "task_2"}}, "users": {}}, "task_id of its own"),
        ({"tasks": [{"task_id": "t"}, {"task_id": "t"}], "users": {}}, "task_id of its own"),
        ([], "expected an object of tables"),
    ],
)
def test_a_database_that_is_none_is_refused(tmp_path, database, told):
    with pytest.raises(SuiteError) as refused:
        import_tau2(published(tmp_path, task(), database=database), tmp_path / "suite")
    assert told in str(refused.value)


def test_files_that_are_missing_are_named(tmp_path):
    with pytest.raises(SuiteError, match=r"holds no tasks.json of a domain"):
        import_tau2(tmp_path, tmp_path / "suite")
    folder = published(tmp_path, task())
    renamed = folder.rename(tmp_path / "retial")
    with pytest.raises(SuiteError, match="did you mean 'retail'"):
        import_tau2(renamed, tmp_path / "suite")
    folder = renamed.rename(folder)
    (folder / "policy.md").rename(tmp_path / "policy.md")
    with pytest.raises(SuiteError, match=r"policy\.md"):
        import_tau2(folder, tmp_path / "suite")
    (folder / "tasks.json").rename(tmp_path / "tasks.json")
    (folder / "tasks.json").write_text("[]")
    with pytest.raises(SuiteError, match="holds no task"):
        import_tau2(folder, tmp_path / "suite")
    (tmp_path / "tasks.json").replace(folder / "tasks.json")
    (tmp_path / "policy.md").rename(folder / "policy.md")
    (folder / "db.json").unlink()
    with pytest.raises(SuiteError, match=r"neither db.json nor db.toml"):
        import_tau2(folder, tmp_path / "suite")
    for text, told in (
        ("tasks = [", "is not valid TOML"),
        ("tasks = nan", "NaN"),
        (f"tasks = {'[' * 10_000}", "too deep"),
    ):
        (folder / "db.toml").write_text(text)
        with pytest.raises(SuiteError, match=told):
            import_tau2(folder, tmp_path / "suite")


def test_ids_that_are_none_here_are_told_apart_by_a_hash(tmp_path):
    ids = ["a|b", "a/b", "a_b", "t2", "x" * 900, "x" * 901]
    report = import_tau2(published(tmp_path, *map(task, ids)), tmp_path / "suite")
    cases = Played(tmp_path / "suite").cases
    assert (report.cases, len(cases)) == (6, 6)
    assert "mock-a_b" in cases


def test_names_of_tables_and_tasks_lead_to_no_other_place(tmp_path):
    escaping = {**DATABASE, "../../escaped": {"x": {"id": "x"}}}
    report = import_tau2(published(tmp_path, task("../../../etc/passwd"), database=escaping), tmp_path / "suite")
    (case,) = Played(tmp_path / "suite").cases.values()
    assert "/" not in case.id
    assert (report.cases, report.not_carried) == (1, {"table ../../escaped of mock": 1})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mock", "suite"]
    with pytest.raises(UsageError, match="not an empty folder"):
        import_tau2(tmp_path / "mock", tmp_path / "suite")


# -- actions --------------------------------------------------------------------------------------------------------------


class Called:
    def __init__(self, *calls):
        self.calls = [type("Call", (), {"tool": tool, "arguments": arguments})() for tool, arguments in calls]
        self.user_calls = []


def wanted(tool, arguments, compare=None):
    return {"tool": tool, "arguments": arguments, "by": "agent", "compare": compare}


@pytest.mark.parametrize(
    ("actions", "calls", "passed"),
    [
        ([wanted("a", {"x": 1, "y": 2})], [("a", {"x": 1.0, "y": 2})], True),
        ([wanted("a", {"x": 1, "y": 2})], [("a", {"x": 1})], False),  # all arguments are needed
        ([wanted("a", {"x": 1})], [("a", {"x": 1, "y": 2})], False),
        ([wanted("a", {"x": 1, "y": 2}, ["x"])], [("a", {"x": 1, "y": 9})], True),
        ([wanted("a", {"x": 1}, [])], [("a", {})], True),
        ([wanted("a", {"x": 1}), wanted("a", {"x": 1})], [("a", {"x": 1})], False),  # one call for one action
        ([wanted("a", {"x": 1}, []), wanted("a", {"x": 1})], [("a", {"x": 1}), ("a", {"x": 2})], True),
        ([wanted("a", {"x": "1"})], [("a", {"x": 1})], False),
        ([wanted("a", {})] * 200, [("a", {})] * 200, True),
    ],
)
def test_an_action_needs_a_call_of_its_own_with_its_arguments(actions, calls, passed):
    assert tau_calls(Called(*calls), actions).passed is passed


def test_an_action_of_the_user_is_no_call_of_the_agent():
    assert tau_calls(Called(("a", {})), [{**wanted("a", {}), "by": "user"}]).passed is False


def test_published_numbers_stay_numbers(tmp_path):
    import_tau2(published(tmp_path, task()), tmp_path / "suite")
    assert json.loads((tmp_path / "suite" / "state" / "tasks.jsonl").read_text()) == DATABASE["tasks"]["task_1"]
