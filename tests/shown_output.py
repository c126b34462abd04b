"""What a document shows of a command's output, held against what the command prints.

A line that is ``…`` alone stands for any lines, ``…`` inside a line for any characters.
"""

import re

GAP = "…"


def settled(text: str) -> str:
    """Return pytest's output without what differs from one run to the next: how long it took, and how wide that leaves its last line."""
    took = r"in [\d.]+s(?: \([\d:]+\))?"
    text = re.sub(rf"(?m)^=+ (.*\d (?:passed|failed|skipped|errors?)\b.*?) {took} =+$", r"=== \1 in …s ===", text)
    text = re.sub(r"(?m)  +(\d+ cases?(?: x \d+ trials)?), (?:[\d.]+ m?s|\d+ min \d+ s)$", r"   \1, … s", text)
    return re.sub(rf"(?m) {took}$", " in …s", text)


def differs(shown: str, real: str) -> str:
    """Return what of the shown text the real one does not have in this order, or an empty text."""
    lines = [line.rstrip() for line in real.splitlines()]
    here, free = 0, False
    for chunk in _chunks(shown):
        if not chunk:
            free = True
            continue
        places = range(here, len(lines) - len(chunk) + 1) if free else range(here, here + 1)
        found = next((place for place in places if _fits(chunk, lines[place : place + len(chunk)])), None)
        if found is None:
            return (
                "these lines are not shown as they are:\n"
                + "\n".join(chunk)
                + "\n\nbut there is:\n"
                + "\n".join(lines[here:])
            )
        here, free = found + len(chunk), False
    if not free and here < len(lines):
        return "these lines are missing at the end:\n" + "\n".join(lines[here:])
    return ""


def refreshed(shown: str, real: str) -> str:
    """Return the shown text with each line as it is now: the next one that is the same, else that begins with the same word."""
    lines = [line.rstrip() for line in real.splitlines()]
    here, made = 0, []
    for line in shown.splitlines():
        if line.strip() == GAP:
            made.append(line)
            continue
        word = re.match(r"\s*\S*", line)[0]
        rest = range(here, len(lines))
        place = next((n for n in rest if _fits([line], [lines[n]])), None)
        place = place if place is not None else next((n for n in rest if lines[n].startswith(word)), None)
        if place is not None:
            made.append(lines[place])
            here = place + 1
    return "".join(f"{line}\n" for line in made)


def _chunks(shown: str) -> list[list[str]]:
    """Return the runs of shown lines, with an empty one for each gap between them."""
    chunks: list[list[str]] = []
    for line in shown.splitlines():
        if line.strip() == GAP:
            chunks.append([])
        elif chunks and chunks[-1]:
            chunks[-1].append(line.rstrip())
        else:
            chunks.append([line.rstrip()])
    return chunks


def _fits(chunk: list[str], lines: list[str]) -> bool:
    return len(lines) == len(chunk) and all(map(_same, chunk, lines))


def _same(shown: str, real: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, shown.split(GAP))), real) is not None
