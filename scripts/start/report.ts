/** Prints the report of the demonstration: one line per step with its result and its duration. */

/** Run one step, and print its line. `work` returns the result and a description of the result. */
export async function step<T>(
  name: string,
  work: () => Promise<readonly [result: T, words: string]>,
): Promise<T> {
  const start = process.hrtime.bigint()
  const [result, words] = await work()
  const ms = Number(process.hrtime.bigint() - start) / 1e6
  console.log(`${name.padEnd(8)} ${words.padEnd(84)} ${ms.toFixed(1).padStart(8)} ms`)
  return result
}

export function line(text = ''): void {
  console.log(text)
}

/** Return `text` as one line, cut to at most `width` characters. */
export function short(text: string, width: number): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length > width ? `${flat.slice(0, width - 1)}…` : flat
}
