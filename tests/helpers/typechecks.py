"""beartype, for which NumPy's and PyTorch's scalars are numbers, as in the package."""

from typing import Union

import numpy as np
from beartype import BeartypeConf, FrozenDict, beartype

SCALAR = np.generic | np.ndarray, "torch.Tensor"  # by name: not every test needs torch
NUMBERS = FrozenDict({kind: Union[kind, *SCALAR] for kind in (int, float, bool)})
check = beartype(conf=BeartypeConf(hint_overrides=NUMBERS))
