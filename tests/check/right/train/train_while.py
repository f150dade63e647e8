def train(model, batches, optimizer):
    model.train()
    losses, i = [], 0
    while i < len(batches):
        inputs = batches[i][:, :-1]
        targets = batches[i][:, 1:]
        _, loss = model(inputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        i += 1
    return losses
