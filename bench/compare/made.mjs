/** Makes engines one after the other, and measures the time of each. */
import { able } from './packages.mjs'

/**
 * Make an engine with each of `makers`, and add it to `engines` with its name. So the caller can close these engines
 * even if a later one fails. Skips engines whose package is not installed. `figuresOf`: returns further figures of an
 * engine. Returns entries of a report, with times relative to the first engine.
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
