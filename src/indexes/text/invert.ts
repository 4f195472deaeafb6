/** Inverts the collected terms: computes the rows of each term from the terms of each row. */
import type { Pacer } from '../../primitives/pacer.js'
import type { Collector } from './collect.js'
import type { TermRows } from './encode-postings.js'
import { numbersUpTo } from './narrow.js'

/** Rows and terms processed between two checks of the clock. */
const atOnce = 16 * 1024

/**
 * Invert the collected terms. Consumes `collected`. `order`: the term numbers in the order that the result must have.
 */
export async function inverted(collected: Collector, order: Uint32Array, pacer: Pacer): Promise<TermRows> {
  const { rows, postings, tokens, mostFrequent, longest, stream, positions } = collected
  const lengths = numbersUpTo(longest, rows)
  lengths.set(collected.lengths.subarray(0, rows))
  await pacer.turn()
  const out: TermRows = {
    ordinals: new Uint32Array(postings),
    frequencies: numbersUpTo(mostFrequent, postings),
    positions: positions === null ? null : new Uint32Array(tokens),
    lengths,
  }
  await pacer.turn()
  const next = await startsOf(collected.termDocs, order, pacer)
  const nextPosition = positions === null ? null : await startsOf(collected.termTokens, order, pacer)
  stream.rewind()
  positions?.rewind()
  let done = 0
  for (let row = 0; row < rows; row++) {
    const distinct = collected.distinct[row]!
    done += 1 + distinct
    if (distinct > 0) {
      stream.advance()
      if (positions === null) invertRow(stream, row, distinct, next, out)
      else {
        positions.advance()
        invertRowWithPositions(collected, row, distinct, next, nextPosition!, out)
      }
    }
    if (done < atOnce) continue
    done = 0
    await pacer.turn()
  }
  return out
}

/** Return, by term number, the index of the term's first entry. `counts`: number of entries of each term. */
async function startsOf(counts: Uint32Array, order: Uint32Array, pacer: Pacer): Promise<Uint32Array> {
  const starts = new Uint32Array(order.length)
  let start = 0
  for (let i = 0; i < order.length; i++) {
    const number = order[i]!
    starts[number] = start
    start += counts[number]!
    if (i % atOnce === 0) await pacer.turn()
  }
  return starts
}

function invertRow(
  stream: Collector['stream'],
  row: number,
  distinct: number,
  next: Uint32Array,
  { ordinals, frequencies }: TermRows,
): void {
  const { words } = stream
  let { at } = stream
  for (let i = 0; i < distinct; i++) {
    const word = words[at++]!
    const index = next[word >>> 1]!++
    ordinals[index] = row
    frequencies[index] = (word & 1) === 0 ? 1 : words[at++]!
  }
  stream.at = at
}

function invertRowWithPositions(
  { stream, positions }: Collector,
  row: number,
  distinct: number,
  next: Uint32Array,
  nextPosition: Uint32Array,
  { ordinals, frequencies, positions: out }: TermRows,
): void {
  const { words } = stream
  const from = positions!.words
  let { at } = stream
  let positionAt = positions!.at
  for (let i = 0; i < distinct; i++) {
    const word = words[at++]!
    const number = word >>> 1
    const frequency = (word & 1) === 0 ? 1 : words[at++]!
    const index = next[number]!++
    ordinals[index] = row
    frequencies[index] = frequency
    let target = nextPosition[number]!
    for (let rest = frequency; rest > 0; rest--) out![target++] = from[positionAt++]!
    nextPosition[number] = target
  }
  stream.at = at
  positions!.at = positionAt
}
