"""Write docs/commands.md from the commands themselves: python docs/make_commands.py."""

from pathlib import Path

from click.testing import CliRunner

from motionloom.cli import COMMANDS, app

PAGE = Path(__file__).with_name("commands.md")


def page() -> str:
    """The reference: every command's complete help, in the order of `motionloom --help`."""
    parts = [
        "# Commands\n",
        "What `motionloom COMMAND --help-all` says, all in one place; `--help` shows what most "
        "people need, and `--method NAME --help` adds the options of a method. Every command that "
        "yields data takes `--json`; a wrong input ends with one line and exit code 2; files that "
        "could not be read among many give exit code 1.\n",
    ]
    for command in COMMANDS:
        result = CliRunner().invoke(app, [command, "--help-all"])
        text = result.output.strip()
        parts.append(f"## motionloom {command}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
