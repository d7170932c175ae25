"""Motion diagnostics: measurements, issues, repairs and quality reports."""
