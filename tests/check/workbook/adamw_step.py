def adamw_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps, decay):
    if parameter.ndim >= 2:
        parameter = parameter * (1 - lr * decay)
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat, v_hat = m / (1 - beta1**step), v / (1 - beta2**step)
    return parameter - lr * m_hat / (v_hat**0.5 + eps), m, v
