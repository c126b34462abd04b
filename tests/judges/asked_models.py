"""A model that answers as a test says, in the place of the door; and a small case for it."""

import json
import re
import threading

from judging import TOOLS, case_of, dialogue, found_places

from pytest_mapsat.judges import make_judge
from pytest_mapsat.llm import Answer, ModelError
from pytest_mapsat.model import Usage

REPLY = "Go to Cafe Luna (Riverside). It is rated 4.7 and about 25 minutes on foot. Old Mill is closed today. Tea is 5 euros."
_LINE = re.compile(r"^(\d+)\. \[([a-z-]+)\] (.+)$", re.MULTILINE)


def requirements(request):
    """The requirements of a request by their text: number and form."""
    return {text: (int(number), form) for number, form, text in _LINE.findall(request.messages[1]["content"])}


class ScriptedDoor:
    """Answers each requirement by its text; ``answers``: from text, vote and whether it is asked again to an entry, or to an error."""

    def __init__(self, answers):
        self.answers = answers
        self.requests = []
        self._lock = threading.Lock()

    def ask(self, request, *, timeout=None, cancelled=None):
        with self._lock:
            self.requests.append(request)
        again = len(request.messages) > 2
        entries = []
        for text, (number, _) in requirements(request).items():
            entry = self.answers(text, request.vote, again)
            if isinstance(entry, Exception):
                raise entry
            if entry is not None:
                entries.append({"requirement": number, **entry})
        data = {"labels": entries}
        return Answer(text=json.dumps(data), data=data, usage=Usage(input_tokens=100, output_tokens=10, cost=0.001))


def entry(verdict="passed", words="Cafe Luna (Riverside)", part="reply-1", figures=(), reason="The reply says so."):
    quotes = [{"part": part, "words": words}] if words else []
    return {"reason": reason, "quotes": quotes, "figures": list(figures), "verdict": verdict}


def figure(words, value, known, unit="min", relation="equal"):
    return {"words": words, "of": "the way", "unit": unit, "value": value, "relation": relation, "known": known}


def judged(answers, *, case=None, trajectory=None, spec="llm:some/model", votes=1):
    """The verdict on a dialogue, and the door."""
    door = answers if hasattr(answers, "ask") else ScriptedDoor(answers)
    judge = make_judge(spec, TOOLS, root=None, client=door, votes=votes)
    verdict = judge.judge(case or small_case(), trajectory or dialogue(REPLY, steps=[found_places()]))
    return verdict, door


def labels(verdict):
    return {label.requirement: label for label in verdict.labels}


def small_case(**changes):
    parts = {
        "explicit": [
            {
                "id": "place",
                "text": "A cafe is recommended",
                "check": {"kind": "recommends", "only": True, "any_of": ["Cafe Luna"]},
            },
            {"id": "nice", "text": "The answer is nice"},
        ],
        "implicit": [
            {"id": "quiet", "text": "The cafe is quiet", "kind": "hard", "weight": 1},
            {"id": "view", "text": "The cafe has a view", "kind": "soft", "weight": 1},
        ],
        "facts": [{"id": "phone", "text": "Every phone number that is stated is that of its place"}],
    }
    return case_of(**(parts | changes))


FAULT = ModelError("no_key", "no key for some/model", purpose="judge")
