"""Self-contained web pages: players, contact sheets and reports."""
