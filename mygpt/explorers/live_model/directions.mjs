// Where a word's score rises. No page is touched here.

/**
 * For each word the direction in the stream that raises its score most: its embedding times the
 * last norm's weight, centred over the channels. One row a word; kept with the model.
 * @type {(model: LiveModel.Gpt) => Float64Array}
 */
export function scoreDirections(model) {
  if (model.directions) return model.directions;
  const { vocab, width, embedding, lnF } = model;
  const directions = new Float64Array(vocab * width);
  for (let word = 0; word < vocab; word += 1) {
    let mean = 0;
    for (let i = word * width; i < (word + 1) * width; i += 1) {
      directions[i] = embedding[i] * lnF.weight[i - word * width];
      mean += directions[i] / width;
    }
    for (let i = word * width; i < (word + 1) * width; i += 1) directions[i] -= mean;
  }
  model.directions = directions;
  return directions;
}
