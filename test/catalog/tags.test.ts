import { expect, test } from 'vitest'
import { findTable, tagOf } from '../../src/catalog/lookup.js'
import { decideDeclareTable } from '../../src/catalog/tables.js'
import { decideCreateTag, decideDeleteTag, decideUpdateTag } from '../../src/catalog/tags.js'
import { commit, emptyCatalog, emptyChange } from '../support/catalog.js'

const declared = commit(emptyCatalog, 1, decideDeclareTable(emptyCatalog, ['t'], 'u', {}))
const two = commit(commit(declared, 2, emptyChange('u', 1)), 3, emptyChange('u', 2))
const head = findTable(two, ['t'])
const tagged = commit(two, 4, decideCreateTag(head, 'prod', 1))

test('A-153 a tag moves only if it exists, and only to a version that exists', () => {
  const moved = commit(tagged, 5, decideUpdateTag(findTable(tagged, ['t']), 'prod', 2))
  expect(tagOf(findTable(moved, ['t']), 'prod')).toBe(2)
  expect(() => decideUpdateTag(head, 'prod', 1)).toThrow(expect.objectContaining({ code: 8 }))
  expect(() => decideUpdateTag(findTable(tagged, ['t']), 'prod', 3)).toThrow(
    expect.objectContaining({ code: 11 }),
  )
})

test('A-154 a tag gives its version, or code 8 with the nearest name', () => {
  expect(tagOf(findTable(tagged, ['t']), 'prod')).toBe(1)
  expect(() => tagOf(findTable(tagged, ['t']), 'prd')).toThrow(
    expect.objectContaining({ code: 8, hint: 'did you mean "prod"?' }),
  )
})

test('a tag is created once, on a version that exists', () => {
  const later = findTable(tagged, ['t'])
  expect(() => decideCreateTag(later, 'prod', 2)).toThrow(expect.objectContaining({ code: 9 }))
  expect(() => decideCreateTag(later, 'next', 9)).toThrow(expect.objectContaining({ code: 11 }))
  expect(() => decideCreateTag(findTable(declared, ['t']), 'x', 1)).toThrow(
    expect.objectContaining({ code: 11 }),
  )
})

test('a deleted tag is gone, and its name may be used again', () => {
  const without = commit(tagged, 5, decideDeleteTag(findTable(tagged, ['t']), 'prod'))
  expect(() => decideDeleteTag(findTable(without, ['t']), 'prod')).toThrow(
    expect.objectContaining({ code: 8 }),
  )
  expect(decideCreateTag(findTable(without, ['t']), 'prod', 2).v).toBe(2)
})

test('names of JavaScript properties are ordinary tag names', () => {
  expect(() => tagOf(head, 'constructor')).toThrow(expect.objectContaining({ code: 8 }))
  expect(decideCreateTag(head, '__proto__', 1).name).toBe('__proto__')
})
