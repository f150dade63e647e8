"""Arrays to be refused."""

import numpy as np


def changed(array, value, *index):
    array = np.asarray(array, dtype=float).copy()
    array[index] = value
    return array
