from gelu_tanh import gelu_tanh


def mlp(x, W1, b1, W2, b2):
    return gelu_tanh(x @ W1 + b1) @ W2 + b2
