"""Run the command line: `python -m rankframe`."""

from rankframe.cli import main

if __name__ == "__main__":
    main()
