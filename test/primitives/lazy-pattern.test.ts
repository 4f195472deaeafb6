import { expect, test } from 'vitest'
import { lazyPattern } from '../../src/primitives/lazy-pattern.js'

test('a lazy pattern is created once, with its flags', () => {
  const letters = lazyPattern(String.raw`^\p{Lu}+$`, 'iu')
  expect(letters()).toBe(letters())
  expect(letters().test('äÖ')).toBe(true)
  expect(letters().flags).toBe('iu')
})

test('an invalid pattern throws at its first use', () => {
  const invalid = lazyPattern('(', '')
  expect(invalid).toThrow(SyntaxError)
})
