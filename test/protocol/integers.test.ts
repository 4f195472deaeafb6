/** an integer of a request arrives as it was sent, or not at all, wherever it stands. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SheafError } from '../../src/errors.js'
import { readJson } from '../../src/protocol/json.js'
import { type OperationEntry, operationNames, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import type { Fields, IntegerShape, JsonShape, Shape } from '../../src/protocol/shape.js'
import { readRequest } from '../../src/protocol/wire.js'
import { arbitraryOf } from '../support/shape-arbitrary.js'

/** A place in a request where a number may stand, and a request with something there. */
interface Place {
  readonly path: readonly string[]
  readonly shape: IntegerShape | JsonShape
  readonly around: (value: unknown) => unknown
}

function placesIn(shape: Shape, depth = 2): Place[] {
  if (depth === 0) return []
  switch (shape.kind) {
    case 'integer':
    case 'json': {
      const isContainer = shape.kind === 'json' && shape.demand === 'container'
      return [{ path: isContainer ? ['0'] : [], shape, around: value => (isContainer ? [value] : value) }]
    }
    case 'array':
      return placesIn(shape.item, depth).map(place => within(place, '0', value => [value]))
    case 'record':
      return placesIn(shape.value, depth).map(place => within(place, 'some', some => ({ some })))
    case 'object':
      return placesInFields(shape.fields, depth, sampleOf(shape) as object)
    case 'choice':
      return placesInFields(shape.fields, depth, {})
    case 'nullable':
    case 'accept':
      return placesIn(shape.shape, depth)
    case 'named':
      return placesIn(shape.shape(), depth - 1)
    default:
      return []
  }
}

function placesInFields(fields: Fields, depth: number, others: object): Place[] {
  return Object.entries(fields).flatMap(([name, { shape, effect }]) =>
    effect === 'none'
      ? []
      : placesIn(shape, depth).map(place => within(place, name, value => ({ ...others, [name]: value }))),
  )
}

function within(place: Place, key: string, wrap: (value: unknown) => unknown): Place {
  return { ...place, path: [key, ...place.path], around: value => wrap(place.around(value)) }
}

function sampleOf(shape: Shape): unknown {
  return fc.sample(arbitraryOf(shape), { numRuns: 1, seed: 7 })[0]
}

const texts = [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n].map(String)

/** What the operation would be asked, or why not. */
function arrived(name: (typeof operationNames)[number], place: Place, text: string): unknown {
  const entry: OperationEntry = operations[name]
  const [field] = place.path
  const inQuery = entry.body !== 'json' && entry.query.includes(field!)
  const { id: _, ...fields } = place.around('@') as Record<string, unknown>
  const json = JSON.stringify(entry.bare === undefined ? fields : fields[entry.bare]).replace('"@"', text)
  const parts = {
    segments: {
      id: 'x',
      ...('index_name' in entry.request.fields && { index_name: String(fields.index_name ?? 'i') }),
    },
    query: new URLSearchParams(inQuery ? { [field!]: text } : {}),
    body: inQuery ? undefined : readJson(Buffer.from(json), 1 << 20),
  }
  return parse(entry.request, readRequest(entry, parts), name)
}

const placesOf = (name: (typeof operationNames)[number]) =>
  placesIn(operations[name].request).map(place => ({ place, where: `${name} ${place.path.join('.')}` }))

describe('A-036 integers', () => {
  test('are found in requests at any depth', () => {
    const all = operationNames.flatMap(placesOf)
    expect(all.map(({ where }) => where)).toEqual(
      expect.arrayContaining([
        'queryTable version',
        'queryTable parameters.0',
        'batchCommitTables operations.0.create_table_version.version',
        'updateTable update_parameters.0',
        'listTables limit',
      ]),
    )
    const arriving = all.filter(({ place, where }) => {
      const name = where.split(' ')[0] as (typeof operationNames)[number]
      return valueAt(place, name, '4') === 4
    })
    // Others have fields beside them that they contradict, or branches.
    expect(arriving.length).toBeGreaterThan(all.length * 0.6)
  })

  test.each(operationNames)('%s', name => {
    for (const { place, where } of placesOf(name)) {
      const max = place.shape.kind === 'integer' ? place.shape.max : Number.MAX_SAFE_INTEGER
      const saturates = place.shape.kind === 'integer' && place.shape.saturates
      for (const text of texts) {
        const value = valueAt(place, name, text)
        const fits = BigInt(text) <= BigInt(max)
        if (!(value instanceof SheafError)) {
          expect(value, `${where} = ${text}`).toBe(fits ? Number(text) : saturates ? max : 'refused')
        } else if (fits || saturates) expect(value.message, where).not.toContain(text)
      }
    }
  })
})

/** What arrives at a place, or why the request is refused. */
function valueAt(place: Place, name: (typeof operationNames)[number], text: string): unknown {
  try {
    const request = arrived(name, place, text)
    return place.path.reduce((from, key) => (from as Record<string, unknown>)[key], request)
  } catch (cause) {
    if (cause instanceof SheafError) return cause
    throw cause
  }
}
