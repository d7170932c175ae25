"""Commands for files and libraries: contents, diagnostics, conversion, import, labels."""
