"""The memories that need no model: what they keep, what they leave out, and what they find again."""

import subprocess
import sys

import pytest

from pytest_mapsat.agents.memory import chunks_of, latest, lines_of, open_memory, token_ends


def said(words: str, day: int = 1) -> dict[str, object]:
    """Return what a user said on a day of April, as a memory is told it."""
    return {"date": f"2026-04-{day:02}", "behavior": [], "dialogue": [{"role": "user", "content": words}]}


def memory(spec, tmp_path):
    source = open_memory(spec, root=tmp_path)
    assert source is not None
    assert source.make is not None
    made = source.make(1)
    made.reset()
    return made


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("   \n ", 0),
        ("oat milk", 2),
        ("vegetarian!", 4),
        ("燕麦奶", 3),
        ("拿铁 latte", 4),
        ("18:30", 3),
        ("はい", 2),
    ],
)
def test_tokens_are_counted_by_a_rule(text, tokens):
    assert len(token_ends(text)) == tokens


def test_each_act_and_each_word_is_a_line_that_begins_with_its_date():
    interaction = said("No milk,\n  please.") | {"behavior": [{"type": "", "content": "sat outside"}]}
    assert list(lines_of([interaction])) == ["2026-04-01 behavior: sat outside", "2026-04-01 user: No milk, please."]


def test_the_latest_lines_are_kept_whole_and_of_a_line_too_long_its_end():
    assert latest(["one two", "three", "four"], 3) == ["three", "four"]
    assert latest(["oat", "milk, oat milk"], 2) == ["oat milk"]
    assert latest(["oat"], 5) == ["oat"]


def test_pieces_have_so_many_tokens_without_overlap():
    assert chunks_of("a b c d e f g", 3) == ["a b c", "d e f", "g"]
    assert chunks_of("燕麦奶", 2) == ["燕麦", "奶"]
    assert chunks_of("", 3) == []


def test_a_full_memory_of_10_megabytes_is_bounded(tmp_path):
    full = memory("full", tmp_path)
    full.update([said(f"number {number} " + "likes oat milk " * 60, 1) for number in range(11_000)])
    full.update([said("Soy milk from today.", 2)])
    lines = full.retrieve("anything").splitlines()
    assert lines[-1] == "2026-04-02 user: Soy milk from today."
    assert 101_000 < len(token_ends("\n".join(lines))) <= 102_400
    assert lines[0].startswith("2026-04-01 user: number "), "no line is cut"


def test_the_best_eight_pieces_that_share_a_word_are_found_in_either_language(tmp_path):
    rag = memory("rag", tmp_path)
    rag.update([said("Nothing to do with it.")])
    for day in range(2, 14):
        rag.update([said(f"Order {day}: a coffee with oat milk.", day)])
    rag.update([said("咖啡要燕麦奶的。", 14)])
    rag.update([said("Decaf coffee, coffee, coffee.", 15)])
    lines = rag.retrieve("Coffee!").text.splitlines()
    assert len(lines) == 8
    assert lines[0].startswith("2026-04-15"), "it says the word most often"
    assert all("coffee" in line for line in lines)
    assert rag.retrieve("来杯咖啡").text == "2026-04-14 user: 咖啡要燕麦奶的。"
    assert rag.retrieve("紫").text == rag.retrieve("").text == ""


def test_what_is_found_does_not_depend_on_the_seed_of_hashes():
    code = (
        "from pytest_mapsat.agents.memory import ChunkMemory\n"
        "rag = ChunkMemory()\n"
        "for day in range(1, 29):\n"
        "    words = [f'w{day * step % 13}' for step in range(1, 9)]\n"
        "    told = [{'role': 'user', 'content': ' '.join(words)}]\n"
        "    rag.update([{'date': f'2026-04-{day:02}', 'behavior': [], 'dialogue': told}])\n"
        "print(rag.retrieve('w1 w2 w3 w5 w8 w12').text)\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(told) == 1
    assert len(told.pop().splitlines()) == 8
