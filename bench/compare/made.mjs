/** Makes engines one after the other, and tells what each took. */
import { able } from './packages.mjs'

/**
 * Adds to `engines` what `make` makes with each of `makers`, under its name: what is there by then can be closed if a later one fails.
 * One whose package is not here is passed over. `figuresOf`: more to tell of one. Gives entries of a report, relative to the first.
 */
export async function made(makers, engines, make, figuresOf = () => ({})) {
  const entries = []
  for (const [name, maker] of Object.entries(await able(makers))) {
    const cpu = process.cpuUsage()
    const begun = performance.now()
    const engine = await make(maker, name)
    const took = performance.now() - begun
    const { user, system } = process.cpuUsage(cpu)
    engines.push({ name, ...engine })
    entries.push({
      name,
      milliseconds: { min: took, p50: took, p95: took },
      relativeTime: took / (entries[0]?.milliseconds.p50 ?? took),
      answer: name,
      figures: { cpuSeconds: (user + system) / 1e6, ...(await figuresOf(engine)) },
    })
  }
  return entries
}
