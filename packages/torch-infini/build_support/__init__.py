"""What `setup.py` needs to build torch-infini; not installed."""
