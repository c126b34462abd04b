"""Plays calls in an imported world, tells the whole database at the end as text, and what the checks and metrics make of it."""

from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.metrics import score
from pytest_mapsat.model import Label, Trajectory, Turn, canonical_json
from pytest_mapsat.ports.tau2 import TAU, WORLDS
from pytest_mapsat.sandbox import end_state, make_sandbox, play_reference, tables_of
from pytest_mapsat.suite import open_suite


class Played:
    """A suite, played call by call."""

    def __init__(self, root):
        self.suite = open_suite(root)
        self.world = WORLDS[self.suite.manifest.sandbox["tau2"]]
        self.suite.sandboxes = [lambda case, suite: self.world]
        self.cases = {entry.id: self.suite.load(entry) for entry in self.suite.entries(root / "cases.jsonl")}
        self._texts = {}
        self._ends = {}

    def writes(self, calls):
        """The places of the calls that write."""
        return [at for at, (tool, _) in enumerate(calls) if self.suite.tools[tool].effect == "write"]

    def episode(self, case, calls, *, say="Done.", ending="done"):
        """The dialogue of an agent that makes these calls; those of the user's tools are the user's."""
        sandbox = make_sandbox(case, self.suite)
        steps = [sandbox.call(tool, arguments).step(tool, arguments) for tool, arguments in calls]
        own = tuple(step for step in steps if self.suite.tools[step.tool].for_agent)
        users = tuple(step for step in steps if not self.suite.tools[step.tool].for_agent)
        turns = [Turn(role="user", text="Help me.")]
        if users:  # in order: a turn for each call
            turns = [
                *turns,
                *(Turn(role="agent" if step in own else "user", text="So.", steps=(step,)) for step in steps),
            ]
            turns.append(Turn(role="agent", text=say))
        else:
            turns.append(Turn(role="agent", text=say, steps=own))
        if case.id not in self._ends:
            self._ends[case.id] = play_reference(case, self.suite)
        end = self._ends[case.id]
        return Trajectory(case=case.id, turns=tuple(turns), setup=sandbox.setup, reference=end, ending=ending)

    def database(self, case, trajectory):
        """Every row at the end, as text: what the benchmark compares."""
        state = end_state(tables_of(case, self.suite), trajectory.setup, trajectory.all_calls)
        keys = {**self.world.keys, **self.world.user_keys}
        return {name: {key: self._text(row) for key, row in state.table(name, key=keys[name]).items()} for name in keys}

    def _text(self, row):
        # Most rows are one object at every end.
        if id(row) not in self._texts:
            self._texts[id(row)] = row, canonical_json(row)
        return self._texts[id(row)][1]

    def labels(self, case, trajectory):
        return {
            label.requirement: label
            for label in ChecksJudge(self.suite.tools, suite=self.suite).judge(case, trajectory).labels
        }

    def card(self, case, trajectory, said=None):
        """The scorecard, with what a judge said of requirements, by id, in place of the checks' labels."""
        verdict = ChecksJudge(self.suite.tools, suite=self.suite).judge(case, trajectory)
        labels = [
            Label(requirement=label.requirement, kind=label.kind, outcome=said[label.requirement], by="llm")
            if said and label.requirement in said
            else label
            for label in verdict.labels
        ]
        verdict = verdict.model_copy(update={"labels": tuple(labels)})
        return score(
            case,
            trajectory,
            verdict,
            asserted=frozenset({"success"}),
            tools=self.suite.tools,
            metric_sets=(TAU,),
            success="tau_reward",
        )


def reference(case):
    return [(call.tool, call.arguments) for call in case.truth.reference]
