"""``python -m motionloom``: the command line, for use when the script is not on the path."""

from motionloom.cli import main

if __name__ == "__main__":
    main()
