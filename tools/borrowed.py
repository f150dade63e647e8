"""A virtual environment that reads the packages of this one."""

import site
import subprocess
import sys
import sysconfig
from pathlib import Path


def borrow(folder: Path) -> tuple[Path, Path]:
    """Make it without pip, and return its interpreter and the folder of its packages.

    A folder that a .pth file names gives its packages alone: what is installed there
    in editable form is not seen.
    """
    command = [sys.executable, "-m", "venv", "--without-pip", folder]
    subprocess.run(command, check=True)
    variables = {"base": str(folder), "platbase": str(folder)}
    scripts, packages = (
        Path(sysconfig.get_path(name, "venv", variables))
        for name in ("scripts", "purelib")
    )
    ours = "\n".join(site.getsitepackages())
    (packages / "borrowed.pth").write_text(f"{ours}\n", encoding="utf-8")
    return scripts / Path(sys.executable).name, packages
