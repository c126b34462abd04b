"""Small suites for tests: text in, folder out."""

import json
import textwrap
from pathlib import Path

MANIFEST = """\
name: demo
version: "1"
license: MIT
schema_version: 1
coordinates: wgs84
language: zh
domains:
  search: find places
  navigation: go places
"""
TOOLS = """\
- name: find
  description: Finds places.
  parameters:
    type: object
    properties:
      query: {type: string}
      city: {type: string}
  fields: {"": ignored}
- name: route
  description: Finds a way.
  parameters: {type: object, properties: {to: {type: string}}}
  fields: {"": ignored}
"""
CASE = """\
id: {id}
domains: [search]
visible:
  query: somewhere to eat
  context:
    now: 2026-05-07T12:30:00+08:00
truth:
  requirements:
    - id: e1
      kind: asked
      text: a place is named
"""


def make_suite(root: Path, files: dict[str, str | bytes] | None = None) -> Path:
    """Write a suite with a manifest and tools; ``files`` adds to them or replaces them."""
    for name, content in ({"suite.yaml": MANIFEST, "tools.yaml": TOOLS} | (files or {})).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = content if isinstance(content, bytes) else textwrap.dedent(content).encode()
        path.write_bytes(raw)
    return root


def case_yaml(case_id: str) -> str:
    return CASE.format(id=case_id)


def case_data(case_id: str, **header: object) -> dict[str, object]:
    """Return a case as JSON data, its header first."""
    return {
        "id": case_id,
        **header,
        "visible": {"query": "somewhere to eat", "context": {"now": "2026-05-07T12:30:00+08:00"}},
        "truth": {"requirements": [{"id": "e1", "kind": "asked", "text": "a place is named"}]},
    }


def case_line(case_id: str, **header: object) -> str:
    return json.dumps(case_data(case_id, **header), ensure_ascii=False) + "\n"


def recording_line(case: str, tool: str, arguments: dict[str, object], result: object) -> str:
    return json.dumps({"case": case, "tool": tool, "arguments": arguments, "result": result}) + "\n"
