"""The form about its last reply that an agent fills in once the dialogue has ended: the question, and what comes of the answer."""

from __future__ import annotations

from pydantic import ValidationError

from pytest_mapsat.formats import parse_json
from pytest_mapsat.llm import prompt
from pytest_mapsat.model import Form, FormFigure, FormThing, Json, json_size, shown

from .reply import Reply

#: The prompt, for the manifest.
FORM_PROMPT = "form"
#: Characters of a form at most, and how deep its lists and objects may stand in each other.
LONGEST_FORM = 64_000
_DEPTH = 8
_NAMED = 3


def form_request(language: str) -> str:
    """Return the message that asks for the form, in the language of the case (BCP 47): Chinese, or English."""
    return prompt(FORM_PROMPT, language).text


def form_of(reply: Reply, said: str) -> tuple[Form | None, str]:
    """Return the form that an agent has filled in, without the entries whose quotes were never said.

    Args:
        reply: its answer: data, or text with one JSON object in it.
        said: the text of its last reply in the dialogue.

    Returns:
        The form, None where the answer holds none that can be used; and a warning, empty where nothing is wrong.
    """
    # What is under "text" is what an agent says besides its data; one that always answers so may have put its form there.
    data: Json = {name: value for name, value in (reply.output or {}).items() if name != "text"}
    size = json_size(data) if data else len(reply.text)
    if size > LONGEST_FORM:
        return None, f"form: ignored: it has {size:,} characters; at most {LONGEST_FORM:,} are read"
    if not data:
        try:
            data = parse_json(reply.text[reply.text.find("{") : reply.text.rfind("}") + 1], depth=_DEPTH)
        except ValueError:
            return None, f"form: ignored: found {shown(reply.text)}, expected one JSON object"
    try:
        form = Form.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        return None, f"form: ignored: {shown(place)}: {first['msg']}"
    return _quoted(form, said)


def _quoted(form: Form, said: str) -> tuple[Form, str]:
    """Return a form without the entries whose quotes were never said, and a warning that names these."""
    entries: list[FormThing | FormFigure] = [*form.recommended, *form.turned_down, *form.figures]
    invented = [shown(entry.quote) for entry in entries if entry.quote not in said]
    if not invented:
        return form, ""
    kept = {
        name: tuple(entry for entry in getattr(form, name) if entry.quote in said)
        for name in ("recommended", "turned_down", "figures")
    }
    few = f"{len(invented)} entries quote" if len(invented) > 1 else "1 entry quotes"
    more = f" and {len(invented) - _NAMED} more" if len(invented) > _NAMED else ""
    named = ", ".join(invented[:_NAMED]) + more
    return form.model_copy(update=kept), f"form: {few} what the reply does not say: {named}"
