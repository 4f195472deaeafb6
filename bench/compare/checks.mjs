/** Checks that all engines return the same answers. */

/** Throw an error if the answer of an engine differs from the expected answer. */
export function agree(title, name, answer, expected) {
  const [given, wanted] = [JSON.stringify(answer), JSON.stringify(expected)]
  if (given !== wanted) throw new Error(`${title}: ${name} returned ${given}, but ${wanted} was expected`)
}

/** Throw an error if not all entries of a race have the same answer. Returns the result of the race. */
export function agreed(result) {
  for (const { name, answer } of result.entries) agree(result.title, name, answer, result.entries[0].answer)
  return result
}

/** Throw an error if fewer than `least` of the found rows are in `truth`. */
export function checkFound(title, name, found, truth, least) {
  const right = new Set(Array.from(found).filter(row => truth.has(row))).size
  if (right < least)
    throw new Error(
      `${title}: ${name} found only ${right} of the ${truth.size} nearest rows, but at least ${least} are required`,
    )
}
