"""Commands on files and libraries: contents, diagnostics, conversion, import, labels."""
