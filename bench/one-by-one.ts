/** Runs queries one at a time, and times each of them. */
import { type CaseResult, type Contestant, distributions, race, timesOf } from './harness.js'

/** The results of all queries, one query after the other, and the time of each query. */
export interface Asked {
  readonly found: readonly number[]
  readonly milliseconds: Float64Array
}

export interface Asker<Query> {
  readonly name: string
  readonly queries: readonly Query[]
  /** Run all queries in order, one at a time. Uses `oneByOne` in this process or in another one. */
  readonly ask: (queries: readonly Query[]) => Promise<Asked>
}

export async function oneByOne<Query>(
  queries: readonly Query[],
  ask: (query: Query) => readonly number[] | Promise<readonly number[]>,
): Promise<Asked> {
  const found: number[] = []
  const milliseconds = new Float64Array(queries.length)
  for (const [q, query] of queries.entries()) {
    const begun = performance.now()
    const rows = await ask(query)
    milliseconds[q] = performance.now() - begun
    found.push(...rows)
  }
  return { found, milliseconds }
}

/**
 * Run a race over all queries, and time each query. The figures `p50Ms` and `p95Ms` are quantiles over the queries. The
 * time of a query is its median over the rounds.
 */
export async function timedOneByOne<Query>(
  title: string,
  askers: readonly Asker<Query>[],
  rounds: number,
): Promise<CaseResult> {
  const warmups = 2
  const times = askers.map(({ queries }) => queries.map(() => new Float64Array(rounds)))
  const contestants = askers.map(({ name, queries, ask }, index): Contestant => {
    let round = -warmups
    return {
      name,
      async run() {
        const { found, milliseconds } = await ask(queries)
        if (round >= 0) for (const [q, own] of times[index]!.entries()) own[round] = milliseconds[q]!
        round++
        return Uint32Array.from(found)
      },
    }
  })
  const { entries } = await race({ title, contestants, rounds, warmups })
  const medians = times.map(own => Float64Array.from(own, each => timesOf(each).p50))
  return {
    title,
    lines: distributions(askers, medians),
    entries: entries.map((entry, index) => {
      const { p50, p95 } = timesOf(medians[index]!)
      return { ...entry, figures: { p50Ms: p50, p95Ms: p95 } }
    }),
  }
}
