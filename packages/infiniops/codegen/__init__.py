"""Writes everything that follows from the operators' declarations (`src/base/*.yaml`).

`python -m codegen --help` runs it; CMake does so at configure time. `generate.py` shows the stages.
"""
