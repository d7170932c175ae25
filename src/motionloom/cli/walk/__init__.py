"""Commands for motion graphs and fat graphs."""
