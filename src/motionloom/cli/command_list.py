"""The list of commands in ``motionloom --help``: whole sentences, whatever the terminal's width."""

from __future__ import annotations

from typer.core import TyperGroup


class CommandList(TyperGroup):
    """Commands with the first line of their help, wrapped instead of cut."""

    def format_commands(self, ctx, formatter) -> None:
        """Write the section of commands, in the order in which they were entered."""
        rows = [
            (name, (self.commands[name].help or "").strip().partition("\n")[0])
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
