"""``python -m streamlearn`` is the command line."""

from streamlearn.cli import main

if __name__ == "__main__":
    main()
