import { expect, test } from 'vitest'
import { Turns } from '../../src/commit/turns.js'

function turnsOf(writers: string): Turns {
  const turns = new Turns()
  for (const [slot, writer] of [...writers].entries()) turns.note(writer, slot + 1)
  return turns
}

test('the writer without a slot for longest comes first', () => {
  const turns = turnsOf('abcab')
  expect(['c', 'a', 'b'].map(writer => turns.before(writer))).toEqual([0, 1, 2])
  expect(turns.writers).toBe(3)
})

test('a writer without a slot comes first', () => {
  expect(turnsOf('ab').before('new')).toBe(0)
  expect(turnsOf('').before('new')).toBe(0)
})

test('a lone writer has nobody before it', () => {
  expect(turnsOf('aaaa').before('a')).toBe(0)
})

test('a writer without any of the last 16 slots is forgotten', () => {
  expect(turnsOf(`x${'a'.repeat(15)}`).before('a')).toBe(1)
  expect(turnsOf(`x${'a'.repeat(16)}`).before('a')).toBe(0)
  expect(turnsOf(`x${'a'.repeat(16)}`).writers).toBe(1)
})
