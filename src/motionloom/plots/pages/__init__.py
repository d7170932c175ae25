"""Self-contained pages: players, contact sheets and reports."""
