def train(model, batches, optimizer):
    model.train(True)
    losses = [0.0] * len(batches)
    optimizer.zero_grad()
    for i, batch in enumerate(batches):
        T = batch.shape[1] - 1
        loss = model(batch.narrow(1, 0, T), batch.narrow(1, 1, T))[1]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses[i] = loss.item()
    return losses
