"""Commands for files and libraries, such as import, conversion, diagnostics and labels."""
