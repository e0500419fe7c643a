"""`python -m linnet`, the same as `linnet`."""

from linnet.commands.main import run

if __name__ == "__main__":
    run()
