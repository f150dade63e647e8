import torch


def softmax(scores):
    N, V = scores.shape
    largest = scores[:, 0]
    for j in range(1, V):
        largest = torch.where(scores[:, j] > largest, scores[:, j], largest)
    columns = [torch.exp(scores[:, j] - largest) for j in range(V)]
    total = sum(columns)
    return torch.stack([column / total for column in columns], dim=1).view(N, V)
