/** Memory for bytes that are needed only while a page is decoded, so that pages do not allocate it again. */

/** Longer memory is not kept. */
const maxKeptBytes = 4 * 1024 * 1024
const maxKept = 4

const kept: Uint8Array[] = []

/** Return at least `bytes` bytes with any content. Only the caller uses them, until it passes them to `releaseScratch`. */
export function takeScratch(bytes: number): Uint8Array {
  const found = kept.findIndex(each => each.length >= bytes)
  if (found !== -1) return kept.splice(found, 1)[0]!
  // Powers of two fit more of the later requests.
  const rounded = bytes > maxKeptBytes ? bytes : 2 ** Math.ceil(Math.log2(Math.max(bytes, 4096)))
  return new Uint8Array(rounded)
}

/** Keep the memory for later calls of `takeScratch`. The caller must not use it, or views of it, any more. */
export function releaseScratch(bytes: Uint8Array): void {
  if (bytes.length > maxKeptBytes) return
  if (kept.length === maxKept) kept.shift()
  kept.push(bytes)
}
