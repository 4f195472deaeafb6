import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sortedNames, subtree, tablePaths } from '../../src/catalog/listing.js'
import { findNamespace } from '../../src/catalog/lookup.js'
import { decideCreateNamespace } from '../../src/catalog/namespaces.js'
import { decideDeclareTable } from '../../src/catalog/tables.js'
import { PersistentMap } from '../../src/primitives/persistent-map.js'
import { commit, emptyCatalog } from '../support/catalog.js'

test('names stay sorted through any changes, whichever state of them is asked for', () => {
  const name = fc.stringMatching(/^[a-d]{1,3}$/)
  const change = fc.tuple(fc.array(name, { maxLength: 90 }), fc.boolean())
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 8 }),
      fc.array(fc.nat(8), { maxLength: 12 }),
      (changes, asked) => {
        const states = [PersistentMap.empty<true>()]
        for (const [names, isThere] of changes) {
          const last = states.at(-1)!
          states.push(names.reduce((map, key) => (isThere ? map.set(key, true) : map.delete(key)), last))
        }
        for (const at of asked) {
          const names = states[at % states.length]!
          expect(sortedNames('test', names)).toEqual([...names.keys()].sort())
        }
      },
    ),
  )
})

test('adding a name to a hundred thousand costs little', () => {
  let names = PersistentMap.empty<true>()
  for (let i = 0; i < 100_000; i++) names = names.set(`name ${i}`, true)
  sortedNames('many', names)
  const begun = performance.now()
  for (let i = 0; i < 50; i++) {
    names = names.set(`more ${i}`, true)
    expect(sortedNames('many', names)).toHaveLength(100_001 + i)
  }
  // Sorting anew takes 50 times 100 ms.
  expect(performance.now() - begun).toBeLessThan(1500)
})

test('paths of all tables come namespace by namespace, parents first, however deep', () => {
  let state = emptyCatalog
  const path: string[] = []
  for (let depth = 0; depth < 60; depth++) {
    path.push('n')
    state = commit(state, depth, ...decideCreateNamespace(state, [...path], 'Create', {}))
  }
  state = commit(state, 100, decideDeclareTable(state, [...path, 't'], 'u1', {}))
  state = commit(state, 101, decideDeclareTable(state, ['z'], 'u2', {}))
  expect(tablePaths(state)).toEqual([['z'], [...path, 't']])
  expect([...subtree(state, findNamespace(state, []))]).toHaveLength(61)
})
