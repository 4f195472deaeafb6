/** No name of a request is ignored: each one that operations declare is misspelt, at every depth. */
import { describe, expect, test } from 'vitest'
import type { SheafError } from '../../src/errors.js'
import { type OperationEntry, operationNames, operations } from '../../src/protocol/operations.js'
import { parse, parseKnown } from '../../src/protocol/parse.js'
import { number, oneOf, options } from '../../src/protocol/shape.js'
import { readRequest } from '../../src/protocol/wire.js'
import { misspellings } from '../support/misspelt.js'

function refusal(call: () => unknown): SheafError {
  try {
    call()
  } catch (error) {
    return error as SheafError
  }
  throw new Error('was accepted')
}

describe('a misspelt name is refused with its path, the nearest name and all names', () => {
  test.each(operationNames)('%s', name => {
    const { request }: OperationEntry = operations[name]
    const all = misspellings(request)
    expect(all.length).toBeGreaterThanOrEqual(Object.keys(request.fields).length)
    for (const { value, path, known, near } of all) {
      const error = refusal(() => parse(request, value, name))
      expect(error, path).toMatchObject({ code: 13, status: 400 })
      expect(error.message).toBe(`${name}: ${path} is not a known field; known: ${known.join(', ')}`)
      expect(error.hint).toBe(`did you mean ${near}?`)
    }
  })

  test.each(operationNames)('%s skips it if the option says so', name => {
    const { request }: OperationEntry = operations[name]
    for (const { value, path } of misspellings(request)) {
      const skipped: string[] = []
      try {
        parseKnown(request, value, name, skipped)
      } catch (error) {
        // Beside what is skipped, something else may be wrong with the sample.
        expect((error as SheafError).message).not.toContain('is not a known')
      }
      expect(skipped).toContain(path)
    }
  })

  test.each(operationNames)('%s in the URL', name => {
    const entry: OperationEntry = operations[name]
    for (const parameter of [...entry.query, 'delimiter']) {
      const query = new URLSearchParams({ [`${parameter}z`]: '1' })
      const parts = { segments: { id: 't', index_name: 'i' }, query, body: undefined }
      const error = refusal(() => readRequest(entry, parts))
      expect(error).toMatchObject({ code: 13, hint: `did you mean ${parameter}?` })
      expect(error.message).toContain(`${parameter}z is not a known parameter`)
    }
  })
})

test('members that decide which rows are read or written are never skipped', () => {
  const refusing = operationNames.filter(name => operations[name].unknownNames === 'refused')
  const writing = operationNames.filter(name => operations[name].access === 'write')
  const queries = [
    'countTableRows',
    'queryTable',
    'explainTableQueryPlan',
    'analyzeTableQueryPlan',
    'fetchTableBlobs',
    'createTableReadSession',
    'readTableSlice',
    'closeTableReadSession',
  ]
  expect([...refusing].sort()).toEqual([...writing, ...queries].sort())
})

test('a declaration of options that differs from their type does not compile', () => {
  interface Some {
    readonly a?: number
    readonly b: 'x' | 'y'
  }
  const a = number
  const b = oneOf('x', 'y')
  expect(options<Some>()({ a, b }, { b: true }).needed).toEqual(['b'])
  // @ts-expect-error: `b` is not declared
  options<Some>()({ a }, { b: true })
  // @ts-expect-error: `c` is no option
  options<Some>()({ a, b, c: number }, { b: true })
  // @ts-expect-error: the type allows `y`, the declaration does not
  options<Some>()({ a, b: oneOf('x') }, { b: true })
  // @ts-expect-error: the declaration allows `z`, the type does not
  options<Some>()({ a, b: oneOf('x', 'y', 'z') }, { b: true })
  // @ts-expect-error: `b` is needed
  options<Some>()({ a, b })
})

test('a field without effect says why', () => {
  for (const name of operationNames) {
    const { request }: OperationEntry = operations[name]
    for (const { effect, doc } of Object.values(request.fields)) {
      if (effect === 'none') expect(doc).toContain('Without effect: ')
    }
  }
})
