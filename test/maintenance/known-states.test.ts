/** The states at checkpoints that a process knows. */
import { expect, test } from 'vitest'
import type { CatalogState } from '../../src/catalog/state.js'
import { KnownStates } from '../../src/maintenance/known-states.js'
import { emptyCatalog } from '../support/catalog.js'

/** A state of its own; `checkpoint`: the slot of the checkpoint that slot `at` names. */
function stateNaming(checkpoint: number, at: number): CatalogState {
  return { ...emptyCatalog, checkpoints: [{ name: `${checkpoint}`, slot: checkpoint, at }] }
}

test('the state of a slot is known once a later slot names its checkpoint', () => {
  const states = new KnownStates()
  const five = stateNaming(1, 2)
  states.note(4, emptyCatalog)
  states.note(5, emptyCatalog)
  // The state after slot 5 again, after more of its records.
  states.note(5, five)
  states.note(6, stateNaming(1, 2))
  expect(states.at(5)).toBeNull()
  states.note(7, stateNaming(5, 7))
  expect(states.at(5)).toBe(five)
  expect(states.at(4)).toBeNull()
  expect(states.at(6)).toBeNull()
})

test('states of slots that were not applied one by one are not known', () => {
  const states = new KnownStates()
  states.note(8, emptyCatalog)
  states.note(9, stateNaming(3, 9))
  expect(states.at(3)).toBeNull()
})

test('states are forgotten when no checkpoint needs them, or when the log continues elsewhere', () => {
  const states = new KnownStates()
  states.add([3, 4, 5].map(slot => ({ slot, state: emptyCatalog })))
  states.retain(new Set([4, 5]))
  expect([3, 4, 5].map(slot => states.at(slot) !== null)).toEqual([false, true, true])
  states.note(6, emptyCatalog)
  states.reset([{ slot: 9, state: emptyCatalog }])
  states.note(10, stateNaming(6, 10))
  expect([4, 6, 9].map(slot => states.at(slot) !== null)).toEqual([false, false, true])
})

test('many slots without a checkpoint need bounded memory', () => {
  const states = new KnownStates()
  for (let slot = 1; slot <= 2000; slot++) states.note(slot, emptyCatalog)
  states.note(2001, stateNaming(1990, 2001))
  expect(states.at(1990)).not.toBeNull()
  states.note(2002, stateNaming(10, 2002))
  expect(states.at(10)).toBeNull()
})
