import { expect, test } from 'vitest'
import { Window } from '../../src/catalog/window.js'

const day = 24 * 60 * 60 * 1000

function filled(count: number, msEach: number): Window<number> {
  let window = Window.empty<number>()
  for (let i = 0; i < count; i++) window = window.set(`k${i}`, i, i * msEach)
  return window
}

test('a key stays while it is young, with any number of newer keys', () => {
  expect(filled(12_000, 1).get('k0')).toBe(0)
})

test('a key stays while few newer ones exist, at any age', () => {
  expect(filled(100, day).get('k0')).toBe(0)
})

test('a key that is old and behind ten thousand others is removed, and no other', () => {
  const window = filled(10_001, day)
  expect(window.size).toBe(10_000)
  expect(window.get('k0')).toBeUndefined()
  expect(window.get('k1')).toBe(1)
})

test('setting a key again changes its value and not its age; an older window is untouched', () => {
  const before = filled(3, 1)
  const after = before.set('k0', 9, 100)
  expect([...after]).toEqual([
    ['k0', 9, 0],
    ['k1', 1, 1],
    ['k2', 2, 2],
  ])
  expect(before.get('k0')).toBe(0)
})
