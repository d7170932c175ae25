"""Commands on motion files: contents, diagnostics, cleaning, conversion, pictures."""
