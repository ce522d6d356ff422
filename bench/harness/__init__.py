# SPDX-License-Identifier: MIT
"""What all benches share: alternating measurement, tracers under test, results and report."""
