"""Random cases by seed: the tests run a share of each campaign, `nox -s fuzz` all of it."""
