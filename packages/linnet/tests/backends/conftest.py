"""Every test has a home of its own, so that none reads times that another measured."""

from __future__ import annotations

from linnet_helpers.fixtures import linnet_home

__all__ = ["linnet_home"]
