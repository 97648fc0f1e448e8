"""Sections of codegen.py: is what the search ranks first quicker, and does its cost model rank as measuring does?"""

from pathlib import Path


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def fused_section(searches, asked):
    return [], []


def ranks_section(searches, asked):
    return [], []
