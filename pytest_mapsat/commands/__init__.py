"""The commands of ``mapsat``, a module each: its options and what it does. Nothing heavy is imported before one runs."""
