"""`python -m rankframe` is the command line."""

from rankframe.cli import main

if __name__ == "__main__":
    main()
