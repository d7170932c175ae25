"""``python -m motionloom``: the command line, for where the script is not on the path."""

from motionloom.cli import main

if __name__ == "__main__":
    main()
