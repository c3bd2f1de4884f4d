"""`python -m benchmarks`: what `make bench` calls. See `benchmarks.run`."""

from benchmarks.run import main

if __name__ == "__main__":
    main()
