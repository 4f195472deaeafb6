/** What generated clients write for members that their caller did not set: each optional member of each request is sent empty. */
import { describe, expect, test } from 'vitest'
import type { SheafError } from '../../src/errors.js'
import { type OperationEntry, operationNames, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import type { Field, Shape } from '../../src/protocol/shape.js'
import { sampleOf } from '../support/misspelt.js'

interface Member {
  readonly path: string
  readonly field: Field
  /** The request in which the member is `value`; undefined: it is not there. */
  readonly request: (value: unknown) => unknown
}

type Around = (part: unknown) => unknown

/** The optional members of a shape at every depth. Shapes that contain themselves are walked once. */
function* optionalMembers(
  shape: Shape,
  around: Around = part => part,
  path = '',
  within: readonly string[] = [],
): Generator<Member> {
  switch (shape.kind) {
    case 'object': {
      const sample = sampleOf(shape) as object
      for (const [name, field] of Object.entries(shape.fields)) {
        for (const each of field.required ? [] : [name, ...field.also])
          yield { path: `${path}.${each}`, field, request: value => around({ ...sample, [each]: value }) }
        yield* optionalMembers(
          field.shape,
          part => around({ ...sample, [name]: part }),
          `${path}.${name}`,
          within,
        )
      }
      return
    }
    case 'choice':
      for (const [name, field] of Object.entries(shape.fields))
        yield* optionalMembers(field.shape, part => around({ [name]: part }), `${path}.${name}`, within)
      return
    case 'array':
      return yield* optionalMembers(shape.item, part => around([part]), `${path}[]`, within)
    case 'record':
      return yield* optionalMembers(shape.value, part => around({ any: part }), `${path}.any`, within)
    case 'nullable':
    case 'accept':
      return yield* optionalMembers(shape.shape, around, path, within)
    case 'named':
      if (!within.includes(shape.name))
        yield* optionalMembers(shape.shape(), around, path, [...within, shape.name])
      return
  }
}

/** The normal form, or what is wrong with the request: samples need not be whole. */
function outcome(shape: Shape, request: unknown): unknown {
  try {
    return parse(shape, request, 'the request')
  } catch (error) {
    return (error as SheafError).message
  }
}

function holdsContainer(shape: Shape): boolean {
  switch (shape.kind) {
    case 'nullable':
    case 'accept':
      return holdsContainer(shape.shape)
    case 'named':
      return holdsContainer(shape.shape())
    default:
      return ['array', 'tuple', 'vector', 'record', 'object', 'choice', 'json'].includes(shape.kind)
  }
}

function holdsNull(shape: Shape): boolean {
  return shape.kind === 'nullable' || (shape.kind === 'accept' && holdsNull(shape.shape))
}

describe('an empty optional member is an absent one', () => {
  test.each(operationNames)('%s', name => {
    const { request }: OperationEntry = operations[name]
    const members = [...optionalMembers(request)]
    expect(members.length).toBeGreaterThan(0)
    for (const { path, field, request: having } of members) {
      const absent = outcome(request, having(undefined))
      const empties = holdsContainer(field.shape) && field.empty === 'absent' ? [[], {}] : []
      for (const empty of holdsNull(field.shape) ? empties : [null, ...empties])
        expect(outcome(request, having(empty)), `${path}: ${JSON.stringify(empty)}`).toEqual(absent)
    }
  })
})

test('members in which an empty value has a meaning', () => {
  const meant = operationNames.flatMap(name => {
    const { request }: OperationEntry = operations[name]
    return [...optionalMembers(request)].filter(({ field }) => field.empty === 'value')
  })
  expect([...new Set(meant.map(({ path }) => path.replace(/^\.query/, '')))].sort()).toEqual([
    '.columns',
    '.custom_stop_words',
    '.fusion.rrf',
    '.group_by',
    '.highlight',
    '.operations[].complete_upload.parts',
    '.parts',
    '.update_parameters',
    '.vector',
  ])
})

test('a text, a number or a truth value that is an empty list is a mistake', () => {
  expect(outcome(operations.updateTable.request, { id: ['t'], updates: [['a', '1']], predicate: [] })).toBe(
    'the request: predicate must be a string that is not blank, got []',
  )
})
