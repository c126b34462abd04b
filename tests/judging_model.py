"""What a model says that judges the answers of ``answer_suite``."""

import json
import re

LINE = re.compile(r"^(\d+)\. \[[a-z-]+\] (.+)$", re.MULTILINE)


def reply(body, verdict=lambda _text, good: "passed" if good else "failed"):
    """What a model says that finds every requirement so, in the words of the reply, or of nowhere when asked for the first time."""
    messages = body["messages"]
    good = "Blue Bay" in messages[1]["content"].partition("# The candidate's calls")[0]
    quote = ("Blue Bay" if good else "Old Mill") if len(messages) > 2 else "I suggest"
    labels = [
        {"requirement": int(number), "reason": "so", "quotes": [{"part": "reply-1", "words": quote}], "figures": [], "verdict": verdict(text, good)}
        for number, text in LINE.findall(messages[1]["content"])
    ]  # fmt: skip
    return json.dumps({"labels": labels})
