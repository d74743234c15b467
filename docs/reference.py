"""Writes the reference of the command line for the site, from what the program itself says."""

import os
import pathlib
import re
import subprocess

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[1]
PAGE = "cli.md"


def helped(program, *command):
    """The long help of a command."""
    out = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True)
    return out.stdout.rstrip()


def page(program):
    """Every command with its options."""
    first = helped(program)
    listed = first.partition("Commands:\n")[2].partition("\n\n")[0]
    commands = [name for name in re.findall(r"^  (\w+) ", listed, flags=re.MULTILINE) if name != "help"]
    parts = ["# Command line", "What `lipmetric --help` and `lipmetric COMMAND --help` print.", f"```text\n{first}\n```"]
    parts += [f"## {name}\n\n```text\n{helped(program, name)}\n```" for name in commands]
    return "\n\n".join(parts) + "\n"


def on_files(files, config):
    """Adds the page."""
    program = pathlib.Path(os.environ.get("LIPMETRIC", ROOT / "target" / "debug" / "lipmetric"))
    text = page(str(program.resolve())) if program.exists() else "# Command line\n\nBuild the program first: `make program`.\n"
    files.append(File.generated(config, PAGE, content=text))
    return files
