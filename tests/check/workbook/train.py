def train(model, batches, optimizer):
    model.train()
    losses = []
    for rows in batches:
        _, loss = model(rows[:, :-1], rows[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
