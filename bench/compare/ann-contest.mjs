/** How engines that find the nearest rows are compared: at equal recall, one query at a time. */
import { oneByOne, timedOneByOne } from '../../dist/bench/one-by-one.js'
import { recallOf } from '../../dist/bench/vector-data.js'

export function queriesOf({ dim, queries }) {
  return Array.from({ length: queries.length / dim }, (_, q) => queries.slice(q * dim, (q + 1) * dim))
}

/**
 * What every engine finds at each of its efforts, and how fast: of each a list of `{ effort, recall, perSecond }`, the median of `passes`.
 * Engines take turns at every effort; one that found nearly everything need not try harder.
 */
export async function swept(engines, queries, truth, passes, share) {
  const curves = engines.map(() => [])
  const most = Math.max(...engines.map(({ efforts }) => efforts.length))
  for (let i = 0; i < most; i++) {
    const times = engines.map(() => [])
    const recalls = []
    for (let pass = -1; pass < passes; pass++) {
      for (const [who, { efforts, search }] of engines.entries()) {
        if (i >= efforts.length || curves[who].at(-1)?.recall > 0.999) continue
        const found = []
        const begun = performance.now()
        for (const query of queries) found.push(await search(query, efforts[i], share))
        if (pass >= 0) times[who].push(performance.now() - begun)
        else recalls[who] = recallOf(truth, found)
      }
    }
    for (const [who, { efforts }] of engines.entries()) {
      if (times[who].length === 0) continue
      const median = times[who].sort((a, b) => a - b)[passes >> 1]
      const perSecond = (1000 * queries.length) / median
      curves[who].push({ effort: efforts[i], recall: recalls[who], perSecond })
    }
  }
  return curves
}

/** The curves, as they are drawn: without efforts that find no more than a lesser one. */
export function curveLines(engines, curves) {
  return {
    x: { name: 'recall' },
    y: { name: 'queries/s', logarithmic: true },
    lines: engines.map(({ name }, who) => ({
      name,
      points: curves[who]
        .filter(({ recall }, i, curve) => i === 0 || curve.slice(0, i).every(less => less.recall < recall))
        .map(({ recall, perSecond }) => [recall, perSecond]),
    })),
  }
}

/**
 * A race at the least effort of each that reaches `floor`; an engine that reaches it with none takes part with its most, and its recall
 * says so. Ends the task where one finds less than half of the floor: then it answers another question.
 */
export async function atFloor(title, engines, curves, floor, queries, rounds, share) {
  const chosen = curves.map(curve => curve.find(({ recall }) => recall >= floor) ?? curve.at(-1))
  const askers = engines.map(({ name, search }, who) => {
    const { effort, recall } = chosen[who]
    if (recall < floor / 2) throw new Error(`${title}: ${name} has a recall of ${recall}`)
    const ask = queries => oneByOne(queries, query => search(query, effort, share))
    return { name: `${name}, ${effort}`, queries, ask }
  })
  const result = await timedOneByOne(title, askers, rounds)
  const entries = result.entries.map((entry, who) => ({
    ...entry,
    figures: {
      recall: chosen[who].recall,
      perSecond: (1000 * queries.length) / entry.milliseconds.p50,
      ...entry.figures,
    },
  }))
  return { ...result, entries }
}
