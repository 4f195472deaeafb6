/** How hard a segment has to look is found out by searches as they will be. */
import { expect, test } from 'vitest'
import { factsOf, type Propose, type Trial, tune } from '../../../src/indexes/vector/calibrate.js'
import { blursFrom, enoughWork } from '../../../src/indexes/vector/saturation.js'
import { type Question, Truth, truthDepth } from '../../../src/indexes/vector/truth.js'
import { Pacer } from '../../../src/primitives/pacer.js'

const rows = 400

/** Rows on a line, and a point at its beginning: rows 0 to 9 are the nearest. */
async function line(): Promise<Truth> {
  const question: Question = { kind: 'rows', vector: new Float32Array(1), row: null, excluded: null }
  const truth = new Truth([question], 1)
  const ordinals = Uint32Array.from({ length: rows }, (_, i) => i)
  await truth.pass(Float32Array.from(ordinals), ordinals, null, rows, new Pacer())
  return truth
}

/** Guesses by which the nearest rows stand far apart among `spread` candidates. */
const proposing =
  (spread: number, asked: number[] = []): Propose =>
  async (_question, _effort, count) => {
    asked.push(count)
    const order = Array.from({ length: rows }, (_, i) => i + truthDepth)
    for (let i = 0; i < truthDepth; i++) order.splice(Math.floor(((i + 1) * spread) / truthDepth), 0, i)
    return {
      ordinals: Uint32Array.from(order.slice(0, count)),
      partitions: 1,
      measured: 0,
      ended: 'saturated',
    }
  }

const trials = (factor: number): readonly Trial[] =>
  blursFrom({ factor, more: 5 }).map(blur => ({ effort: 1, blur, first: enoughWork(blur, truthDepth) }))

test('a search that needs more candidates than it asked for asks again', async () => {
  const asked: number[] = []
  const { recalls, trial, candidates } = (
    await tune(await line(), trials(2), proposing(100, asked), new Pacer())
  ).all
  expect(recalls.rows).toBe(1)
  expect(trial.blur.factor).toBe(2)
  expect(asked).toEqual([25, 100, 400])
  expect(candidates).toBeGreaterThan(200)
})

test('if distance estimates err more than usual, more candidates are measured', async () => {
  const { recalls, trial } = (await tune(await line(), trials(1), proposing(300), new Pacer())).all
  expect(recalls.rows).toBe(1)
  expect(trial.blur.factor).toBeGreaterThan(1)
})

test('if no trial reaches the wanted recall, the best one is taken', async () => {
  const none: Propose = async () => ({
    ordinals: Uint32Array.of(3, 4),
    partitions: 1,
    measured: 7,
    ended: 'limited',
  })
  const found = await tune(await line(), trials(1), none, new Pacer())
  const { recalls, measured } = found.all
  expect(recalls).toEqual({ rows: 0.2, between: null, excluded: null })
  expect(measured).toBe(7)
  expect(factsOf(found)).toMatchObject({ poor: { all: 1, filtered: null }, unsettled: 0 })
})

test('searches that do not settle find all rows, and their cost is counted', async () => {
  const never: Propose = async () => ({
    ordinals: Uint32Array.of(3, 4),
    partitions: 1,
    measured: 7,
    ended: 'unsettled',
  })
  const found = await tune(await line(), trials(1), never, new Pacer())
  expect(factsOf(found)).toMatchObject({ recall: 1, poor: { all: 0 }, unsettled: 1, measured: 7 })
})
