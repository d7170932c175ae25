"""``python -m motionloom``: the command line, for environments without the script on the path."""

from motionloom.cli import main

if __name__ == "__main__":
    main()
