def train(model, batches, optimizer):
    if not model.training:
        model.train()

    def step(rows):
        inputs, targets = rows[:, :-1], rows[:, 1:]
        for parameter in model.parameters():
            parameter.grad = None
        _, loss = model(inputs, targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    return [step(rows) for rows in batches]
