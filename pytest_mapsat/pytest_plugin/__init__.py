"""pytest's side of pytest-mapsat: options, collection, items, and the report. Behaviour lives in the other rooms."""
