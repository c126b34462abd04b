"""tau2-bench: its four domains as sandboxes, the importer of its published files, its metrics."""
