"""What the nox sessions do. `noxfile.py` makes the environments; `python -m ci` does the work."""
