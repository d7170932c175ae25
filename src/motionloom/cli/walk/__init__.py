"""Commands that walk on: motion graphs and fat graphs."""
