"""Judge a set of answers written blind, keep its first judging, and compute the calibration table from all first judgings.

    python tests/natural/measure.py judge SET [SUITE]   prints the figures of SET; keeps them in judgings/ if they are the first
    python tests/natural/measure.py calibrate           writes pytest_mapsat/judges/calibration.json
    python tests/natural/measure.py said FILE [all]     prints what number, clock_time and says make of single sentences (said_example.json shows
                                                        the form of FILE), and which labels are sure and wrong; with "all" every label
    python tests/natural/measure.py agreed FILE         prints how the check ``agreed`` decides the dialogues of FILE, and which wrongly

FILE is a list of dialogues as in agreed_example.json: the rows that a tool lists, what is said, the call that follows the user's yes, and a label:
agreed, not_agreed or unclear. SET is the name of a file beside this one (blind_14), SUITE a folder (benchmark_cases where it is left out).
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pytest_mapsat.formats import DocumentLines, PlacedNoun
from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.judges.findings import calibrate, colour, shipped, suspicion
from pytest_mapsat.judges.labels import label_of
from pytest_mapsat.model import (
    Calls,
    Case,
    FigureRole,
    Judging,
    PeopleLabels,
    Requirement,
    Step,
    TimeRole,
    Tool,
    Trajectory,
    Turn,
)
from pytest_mapsat.proof import judging_of
from pytest_mapsat.reading import Vocabulary
from pytest_mapsat.runs.people_labels import judge_answers
from pytest_mapsat.suite import open_suite

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
NO_PARAMETERS = {"type": "object", "properties": {}}
TABLE = ROOT / "pytest_mapsat" / "judges" / "calibration.json"


def answers_of(name: str) -> list[PlacedNoun[PeopleLabels]]:
    """Return the answers of a set without the labels that their writers doubt, and without answers that are wrong by such a label alone."""
    answers = []
    for case, items in json.loads((HERE / f"{name}.json").read_text()).items():
        for item in items:
            doubts = set(item.get("doubts", ()))
            labels = {requirement: mark for requirement, mark in item["labels"].items() if requirement not in doubts}
            if item["right"] or "failed" in labels.values():
                answer = PeopleLabels(case=case, id=item["id"], by="model", text=item["text"], labels=labels)
                answers.append(PlacedNoun(answer, f"{name}.json", DocumentLines({})))
    return answers


def judge(name: str, folder: Path) -> list[Judging]:
    """Return what the rules of today make of a set."""
    suite = open_suite(folder)
    _, dialogues = judge_answers(suite, answers_of(name))
    return list(map(judging_of, dialogues))


#: How far, relatively, the bounds of a check lie from the value that an author wants: rounding of converted units.
_NEAR = 0.01
#: Units of the sets that checks have no word for; quantities whose role has another name.
_CHECK_UNITS = {"year": "count"}
_CHECK_ROLES = {"discount": ()}


def figure_checks(figure: Mapping[str, Any], value: float | str) -> Iterator[dict[str, Any]]:
    """Yield the checks that the author of a case writes for a value of a figure: with the role of its quantity, where roles have a word for it, and without."""
    if figure["unit"] == "clock":
        roles, plain = get_args(TimeRole), {"kind": "clock_time", "after": value, "before": value}
    else:
        low, high = sorted(float(value) * share for share in (1 - _NEAR, 1 + _NEAR))
        unit = _CHECK_UNITS.get(figure["unit"], figure["unit"])
        roles, plain = get_args(FigureRole), {"kind": "number", "unit": unit, "min": low, "max": high}
    role = _CHECK_ROLES.get(figure["quantity"], (figure["quantity"],))
    if role and role[0] in roles:
        yield plain | {"role": role[0]}
    yield plain


def said_labels(items: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, str, bool, Mapping[str, Any]]]:
    """Yield every label of a set of single sentences: its class, its outcome, whether it is sure and wrong, and the sentence.

    A figure is held against its ``value``, which should pass, and against its ``other``, which should fail. One that can fairly be read in
    two ways (``value`` null) is held against each of its ``readings``, which should stay open, and against ``other``, which should not pass.
    """
    for figure in items["figures"]:
        value, vague = figure["value"], figure["value"] is None
        wanted = [*figure["readings"], figure["other"]] if vague else [value, figure["other"]]
        for number, held in enumerate(wanted):
            for check in figure_checks(figure, held):
                name = "figure, read in two ways" if vague else f"figure, {'wrong' if number else 'right'} check"
                outcome = _outcome(figure, check, figure.get("currency") or "CNY")
                last = number == len(wanted) - 1
                wrong = outcome != "open" and (outcome == "passed" if last else vague or outcome == "failed")
                yield f"{name}, {'with' if 'role' in check else 'without'} role", outcome, wrong, figure
    for feature in items["features"]:
        outcome = _outcome(feature, {"kind": "says", "any": feature["phrases"]}, "CNY")
        wrong = outcome == ("failed" if feature["polarity"] == "affirmed" else "passed")
        yield f"feature, {feature['polarity']}", outcome, wrong, feature


def _outcome(item: Mapping[str, Any], check: Mapping[str, Any], currency: str) -> str:
    requirement = Requirement.model_validate({"id": "said", "kind": "hard", "text": item["text"], "check": check})
    turns = (Turn(role="user", text="?"), Turn(role="agent", text=item["text"]))
    context = JudgedDialogue(
        Trajectory(case="said", turns=turns), {}, language=item["language"], vocabulary=Vocabulary(currency=currency)
    )
    label = label_of(requirement, context.knowing([requirement.check] if requirement.check else []))
    return "open" if label.value is None else "passed" if label.value else "failed"


def said(items: Mapping[str, Sequence[Mapping[str, Any]]], *, every: bool) -> str:
    """Return what the checks make of a set of single sentences, and the sentences whose labels are sure and wrong; ``every``: all of them."""
    labels = list(said_labels(items))
    counts = Counter((name, outcome) for name, outcome, _, _ in labels)
    lines = []
    for name in dict.fromkeys(name for name, _, _, _ in labels):
        of_class = ", ".join(f"{outcome} {counts[name, outcome]}" for outcome in ("passed", "failed", "open"))
        lines.append(f"{name}: {of_class}")
    wrong = sum(is_wrong for _, _, is_wrong, _ in labels)
    lines.append(f"sure and wrong: {wrong} of {len(labels)} = {wrong / max(1, len(labels)):.3f}")
    listed = [
        f"{'WRONG' if is_wrong else 'right' if outcome != 'open' else 'open '} {outcome:6} {name}: {item['id']} {item['text']}"
        for name, outcome, is_wrong, item in labels
        if every or is_wrong
    ]
    return "\n".join((*lines, *listed))


def agreed(path: Path) -> None:
    """Print how the check on agreement decides dialogues, by language and label, and the dialogues that it decides wrongly, or leaves open, with the reason."""
    wrong = {"agreed": "failed", "not_agreed": "met"}
    counts: Counter[tuple[str, str, str]] = Counter()
    lines = []
    for item in json.loads(path.read_text()):
        outcome, why = agreement(item)
        label = item["label"]
        counts[item["language"], label, outcome] += 1
        if outcome == wrong.get(label) or (label == "unclear" and outcome != "undecided"):
            lines.append(f"wrong {item['id']}: {label}, {outcome}: {why}")
        elif outcome == "undecided":
            lines.append(f"open  {item['id']}: {label}: {why}")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    for language in (*sorted({language for language, _, _ in counts}), "all"):
        for label in ("agreed", "not_agreed", "unclear"):
            of_label = [(of, end, count) for (of, mark, end), count in counts.items() if mark == label]
            row = [
                sum(count for of, end, count in of_label if end == outcome and language in (of, "all"))
                for outcome in ("met", "failed", "undecided")
            ]
            shares = ", ".join(
                f"{outcome} {count} ({count / max(1, sum(row)):.3f})"
                for outcome, count in zip(("met", "failed", "undecided"), row, strict=True)
            )
            sys.stdout.write(f"{language:4} {label:11} {shares}\n")
    undecided = sum(count for (_, _, outcome), count in counts.items() if outcome == "undecided")
    sys.stdout.write(f"undecided of all: {undecided / max(1, counts.total()):.3f}\n")


def agreement(item: dict[str, Any]) -> tuple[str, str]:
    """Return how the check on agreement decides a dialogue: met, failed or undecided, and why."""
    listing, acting = item["listing"], item["tool"]
    properties = {name: {"type": kind} for name, kind in acting["parameters"].items()}
    tools = {
        listing["tool"]: Tool(name=listing["tool"], description="Lists rows.", parameters=NO_PARAMETERS),
        acting["name"]: Tool(
            name=acting["name"],
            description=acting["description"],
            effect="write",
            parameters={"type": "object", "properties": properties},
            asks=acting.get("asks", ()),
        ),
    }
    listed = Step(
        kind="call", tool=listing["tool"], arguments=listing["arguments"], result={"rows": listing["rows"]}, status="ok"
    )
    called = Step(kind="call", tool=acting["name"], arguments=item["call"], result={}, status="ok")
    turns = [Turn(role=turn["role"], text=turn["text"]) for turn in item["dialogue"]]
    # The writers were asked to end each dialogue with a plain yes: whether it is recognised is measured elsewhere.
    turns[-1] = turns[-1].model_copy(update={"agreed": True})
    first = next(place for place, turn in enumerate(turns) if turn.role == "agent")
    turns[first] = turns[first].model_copy(update={"steps": (listed,)})
    turns.append(Turn(role="agent", text="Done.", steps=(called,)))
    check = Calls(kind="calls", tool=acting["name"], agreed=True)
    asked = Requirement(id="agreed", kind="hard", text="The user agrees first", check=check)
    case = Case(
        id="natural", language=item["language"], visible={"query": turns[0].text}, truth={"requirements": [asked]}
    )
    finding = evaluate(check, JudgedDialogue.of(case, Trajectory(case=case.id, turns=tuple(turns)), tools))
    return {True: "met", False: "failed", None: "undecided"}[finding.passed], finding.why


def stored() -> dict[str, list[Judging]]:
    """Return the first judgings of all sets."""
    return {
        path.stem: [Judging.model_validate_json(line) for line in path.read_text().splitlines()]
        for path in sorted((HERE / "judgings").glob("*.jsonl"))
    }


def figures(judgings: list[Judging]) -> str:
    """Return the figures of some judgings, in a line: of right answers, of wrong ones, and of decided labels."""
    table = shipped()
    parts = []
    for right, word in ((True, "right"), (False, "wrong")):
        colours = Counter(colour(one, table) for one in judgings if one.right is right)
        total = max(1, colours.total())
        shares = ", ".join(f"{name} {colours[name] / total:.3f}" for name in ("green", "red", "open"))
        parts.append(f"{word} answers ({colours.total()}): {shares}")
    standing = [failure.broken for one in judgings for failure in one.failed if not suspicion(failure.cell, table)]
    sure = sum(len(one.sure) for one in judgings)
    wrong = standing.count(False) + sum(len(one.missed) for one in judgings)
    decided = len(standing) + sure + sum(one.passed + len(one.missed) for one in judgings)
    return "\n".join((*parts, f"decided labels wrong: {wrong} of {decided} = {wrong / max(1, decided):.4f}"))


def main() -> None:
    """Do what the command line asks for."""
    if sys.argv[1:2] == ["calibrate"]:
        table = calibrate(stored())
        TABLE.write_text(json.dumps(table.to_json() | {"schema": table.schema_}, indent=1) + "\n")
        sys.stdout.write(
            f"{len(table.cells)} cells from {len(table.sets)} sets; {table.red_of_right}; {table.green_of_wrong}" + "\n"
        )
    elif sys.argv[1:2] == ["said"] and len(sys.argv) in (3, 4):
        items = json.loads(Path(sys.argv[2]).read_text("utf-8"))
        sys.stdout.write(said(items, every=sys.argv[3:] == ["all"]) + "\n")
    elif sys.argv[1:2] == ["agreed"] and len(sys.argv) == 3:
        agreed(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["judge"] and len(sys.argv) in (3, 4):
        judgings = judge(sys.argv[2], Path(sys.argv[3]) if len(sys.argv) == 4 else ROOT / "benchmark_cases")
        sys.stdout.write(figures(judgings) + "\n")
        kept = HERE / "judgings" / f"{sys.argv[2]}.jsonl"
        if kept.exists():
            sys.stdout.write("not the first judging of this set: nothing is kept" + "\n")
        else:
            kept.write_text("".join(one.model_dump_json(exclude_defaults=True) + "\n" for one in judgings))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
