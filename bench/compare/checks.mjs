/** What ends a task: an engine that answers something else than the others. */

/** Ends a task where an engine answers something else than the others. */
export function agree(title, name, answer, expected) {
  const [given, wanted] = [JSON.stringify(answer), JSON.stringify(expected)]
  if (given !== wanted) throw new Error(`${title}: ${name} answers ${given}, not ${wanted}`)
}

/** Ends a task where not all entries of a race gave the same answer. */
export function agreed(result) {
  for (const { name, answer } of result.entries) agree(result.title, name, answer, result.entries[0].answer)
  return result
}

/** Ends a task where fewer than `least` of the rows found are among `truth`. */
export function checkFound(title, name, found, truth, least) {
  const right = new Set(Array.from(found).filter(row => truth.has(row))).size
  if (right < least) throw new Error(`${title}: ${name} finds ${right} of the ${truth.size} nearest rows`)
}
