/** Compares approximate vector search at equal recall, one query at a time. */
import { oneByOne, timedOneByOne } from '../../dist/bench/one-by-one.js'
import { recallOf } from '../../dist/bench/vector-data.js'

export function queriesOf({ dim, queries }) {
  return Array.from({ length: queries.length / dim }, (_, q) => queries.slice(q * dim, (q + 1) * dim))
}

/**
 * Run all queries with each effort of each engine. Returns for each engine a list of `{ effort, recall, perSecond }`,
 * where `perSecond` is the median of `passes`. Engines take turns at every effort. Larger efforts are left out when an
 * engine has reached a recall above 0.999.
 */
export async function swept(engines, queries, truth, passes, share) {
  const curves = engines.map(() => [])
  const most = Math.max(...engines.map(({ efforts }) => efforts.length))
  for (let i = 0; i < most; i++) {
    const times = engines.map(() => [])
    const recalls = []
    for (let pass = -1; pass < passes; pass++) {
      for (const [index, { efforts, search }] of engines.entries()) {
        if (i >= efforts.length || curves[index].at(-1)?.recall > 0.999) continue
        const found = []
        const begun = performance.now()
        for (const query of queries) found.push(await search(query, efforts[i], share))
        if (pass >= 0) times[index].push(performance.now() - begun)
        else recalls[index] = recallOf(truth, found)
      }
    }
    for (const [index, { efforts }] of engines.entries()) {
      if (times[index].length === 0) continue
      const median = times[index].sort((a, b) => a - b)[passes >> 1]
      const perSecond = (1000 * queries.length) / median
      curves[index].push({ effort: efforts[i], recall: recalls[index], perSecond })
    }
  }
  return curves
}

/** Return the curves for a chart, without efforts whose recall is not higher than that of a smaller effort. */
export function curveLines(engines, curves) {
  return {
    x: { name: 'recall' },
    y: { name: 'queries/s', logarithmic: true },
    lines: engines.map(({ name }, index) => ({
      name,
      points: curves[index]
        .filter(({ recall }, i, curve) => i === 0 || curve.slice(0, i).every(less => less.recall < recall))
        .map(({ recall, perSecond }) => [recall, perSecond]),
    })),
  }
}

/**
 * Run a race in which each engine uses its smallest effort with a recall of at least `floor`. If no effort of an engine
 * reaches this recall, the engine uses its largest effort, and its entry shows the recall. Throws if the recall of an
 * engine is less than half of `floor`, because then the comparison is meaningless.
 */
export async function atFloor(title, engines, curves, floor, queries, rounds, share) {
  const chosen = curves.map(curve => curve.find(({ recall }) => recall >= floor) ?? curve.at(-1))
  const askers = engines.map(({ name, search }, index) => {
    const { effort, recall } = chosen[index]
    if (recall < floor / 2)
      throw new Error(`${title}: ${name} has a recall of only ${recall}, less than half of ${floor}`)
    const ask = queries => oneByOne(queries, query => search(query, effort, share))
    return { name: `${name}, ${effort}`, queries, ask }
  })
  const result = await timedOneByOne(title, askers, rounds)
  const entries = result.entries.map((entry, index) => ({
    ...entry,
    figures: {
      recall: chosen[index].recall,
      perSecond: (1000 * queries.length) / entry.milliseconds.p50,
      ...entry.figures,
    },
  }))
  return { ...result, entries }
}
