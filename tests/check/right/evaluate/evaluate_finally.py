import torch


def evaluate(model, batches):
    mode = model.training
    try:
        model.train(False)
        losses, sizes = [], []
        with torch.no_grad():
            for batch in batches:
                inputs, targets = batch[:, :-1], batch[:, 1:]
                losses.append(float(model(inputs, targets)[1]))
                sizes.append(targets.shape[0] * targets.shape[1])
        weighted = [loss * size for loss, size in zip(losses, sizes, strict=True)]
        return sum(weighted) / sum(sizes)
    finally:
        model.train(mode)
