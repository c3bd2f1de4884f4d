"""`python -m cqs` is the `cqs` command."""

from cqs.cli import main

if __name__ == "__main__":
    main()
