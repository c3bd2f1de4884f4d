"""Tests with a real browser. A package, so that Chromium is stopped before other tests begin."""
