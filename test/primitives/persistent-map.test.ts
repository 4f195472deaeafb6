import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PersistentMap } from '../../src/primitives/persistent-map.js'

/** Two strings with one 32-bit hash are rare; short keys over two letters make shared prefixes common. */
const key = fc.oneof(fc.string({ maxLength: 3 }), fc.stringMatching(/^[ab]{0,12}$/))

test('behaves like a Map, and every earlier map stays as it was', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.option(fc.nat(), { nil: null })), { maxLength: 200 }), steps => {
      let map = PersistentMap.empty<number>()
      const model = new Map<string, number>()
      const history: [PersistentMap<number>, Map<string, number>][] = []
      for (const [k, v] of steps) {
        map = v === null ? map.delete(k) : map.set(k, v)
        if (v === null) model.delete(k)
        else model.set(k, v)
        history.push([map, new Map(model)])
      }
      for (const [actual, expected] of history) {
        expect(actual.size).toBe(expected.size)
        expect(new Map(actual)).toEqual(expected)
        for (const [k] of steps) expect(actual.get(k)).toBe(expected.get(k))
      }
    }),
  )
})

test('iteration order depends on the contents, not on the history', () => {
  fc.assert(
    fc.property(fc.uniqueArray(key, { maxLength: 60 }), fc.array(key, { maxLength: 30 }), (keys, extra) => {
      const straight = keys.reduce((map, k) => map.set(k, 1), PersistentMap.empty<number>())
      let detour = [...keys, ...extra]
        .reverse()
        .reduce((map, k) => map.set(k, 1), PersistentMap.empty<number>())
      for (const k of extra) if (!keys.includes(k)) detour = detour.delete(k)
      expect([...detour.keys()]).toEqual([...straight.keys()])
    }),
  )
})

test('the changes since an earlier map are the keys with another value', () => {
  const step = fc.tuple(key, fc.option(fc.nat(3), { nil: undefined }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.array(step, { maxLength: 20 }), (first, then) => {
      const apply = (map: PersistentMap<number>, steps: typeof first) =>
        steps.reduce((next, [k, value]) => (value === undefined ? next.delete(k) : next.set(k, value)), map)
      const before = apply(PersistentMap.empty<number>(), first)
      const after = apply(before, then)
      const keys = new Set([...before.keys(), ...after.keys()])
      const expected = new Map(
        [...keys].filter(k => before.get(k) !== after.get(k)).map(k => [k, after.get(k)]),
      )
      const found = [...after.changesSince(before)]
      expect(new Map(found)).toEqual(expected)
      expect(found).toHaveLength(expected.size)
    }),
  )
})

test('keys with equal hashes coexist', () => {
  const pair = collidingKeys()
  let map = PersistentMap.empty<number>().set('other', 0)
  pair.forEach((k, i) => {
    map = map.set(k, i + 1)
  })
  expect(pair.map(k => map.get(k))).toEqual([1, 2])
  const before = map
  map = map.delete(pair[0]!)
  expect(pair.map(k => map.get(k))).toEqual([undefined, 2])
  expect([...map.changesSince(before)]).toEqual([[pair[0], undefined]])
  expect([...before.changesSince(map)]).toEqual([[pair[0], 1]])
  expect(map.size).toBe(2)
})

/** Found by the birthday paradox with the same FNV-1a the map uses; the finishing step is a bijection. */
function collidingKeys(): string[] {
  const seen = new Map<number, string>()
  for (let i = 0; ; i++) {
    const candidate = `k${i}`
    let hash = 0x811c9dc5
    for (let j = 0; j < candidate.length; j++) hash = Math.imul(hash ^ candidate.charCodeAt(j), 0x01000193)
    const other = seen.get(hash)
    if (other !== undefined) return [other, candidate]
    seen.set(hash, candidate)
  }
}
