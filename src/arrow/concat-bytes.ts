/** Concatenates byte arrays. Separate from `concat.ts`, so that a client can use it without loading the Arrow code. */
import { invalidInput } from '../errors.js'

/** Concatenate byte arrays into a new array. Throws `InvalidInput` if the result cannot be allocated. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let total = 0
  for (const part of parts) total += part.length
  const out = allocate(total)
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

function allocate(size: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(size)
  } catch (cause) {
    throw invalidInput(`cannot allocate ${size} bytes in one array`, {
      hint: 'ask for fewer rows with limit, or read them with batches()',
      cause,
    })
  }
}
