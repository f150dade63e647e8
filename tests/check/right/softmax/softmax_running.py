import torch


def softmax(scores):
    y = torch.zeros_like(scores)
    for n in range(scores.shape[0]):
        largest, total = scores[n, 0], torch.ones_like(scores[n, 0])
        for j in range(1, scores.shape[1]):
            new = torch.maximum(largest, scores[n, j])
            total = total * (largest - new).exp() + (scores[n, j] - new).exp()
            largest = new
        y[n] = (scores[n] - largest).exp() / total
    return y
