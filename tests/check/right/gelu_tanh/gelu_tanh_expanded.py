import math


def gelu_tanh(x):
    cube = x * x * x
    inner = (x + 0.044715 * cube) * math.sqrt(2.0 / math.pi)
    half = 0.5 * x
    return half + half * inner.tanh()
