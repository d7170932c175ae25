"""Self-contained pages: players, contact sheets, reports."""
