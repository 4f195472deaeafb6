/** Concatenates byte arrays. Apart from `concat.ts`, because clients need it before they read Arrow data. */
import { invalidInput } from '../errors.js'

/** Concatenate byte arrays into a new one. Throws `InvalidInput` if they are too long for one array. */
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
