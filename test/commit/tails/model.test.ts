/**
 * The model of the commit protocol with tails: the right rules keep every guarantee, and the search finds every planted
 * mistake. `explore.ts` explores all scenarios, and prints traces.
 */
import { describe, expect, test } from 'vitest'
import { TailModel } from './model.js'
import { scenarios } from './scenarios.js'
import { search } from './search.js'

const short = scenarios.filter(({ isShort }) => isShort)

describe('no violation', () => {
  test.each(short.filter(({ finds }) => finds === null))('$name', ({ rules }) => {
    expect(search(new TailModel(rules))).toMatchObject({ violation: null, trace: [] })
  })
})

describe('the search finds the mistake', () => {
  test.each(short.filter(({ finds }) => finds !== null))('$name', ({ finds, rules }) => {
    const { violation, trace } = search(new TailModel(rules))
    expect(violation, trace.join('\n')).toMatch(new RegExp(`^${finds}: `))
    expect(trace.length).toBeGreaterThan(0)
  })
})

test('the names of scenarios are unique', () => {
  expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length)
})
