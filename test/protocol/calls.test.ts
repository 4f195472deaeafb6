import { describe, expect, test } from 'vitest'
import { bindToTable } from '../../src/client/bind-to-table.js'
import { Table } from '../../src/client/table.js'
import {
  bindHandlers,
  type CallOptions,
  type HandlerOptions,
  type Handlers,
  normalForms,
  type Operations,
  type Reply,
  type Request,
  serverCallShape,
} from '../../src/protocol/calls.js'
import { operationNames, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'

interface Log {
  readonly calls: unknown[]
}

/** All unsupported but four, which note how they were called. */
const handlers = {
  ...(Object.fromEntries(operationNames.map(name => [name, 'unsupported'])) as {
    readonly [N in keyof Operations]: 'unsupported'
  }),
  countTableRows: async (log: Log, request: Request<'countTableRows'>, options: CallOptions) => {
    log.calls.push(request, options)
    return 7
  },
  queryTable: async (log: Log, request: Request<'queryTable'>) => {
    log.calls.push(request)
    return { version: 3, chunks: [] }
  },
  insertIntoTable: async (
    log: Log,
    request: Request<'insertIntoTable'>,
    body: unknown,
    options: CallOptions,
  ) => {
    log.calls.push(request, body, options)
    return { num_inserted_rows: 1, version: 2 }
  },
  tableExists: async () => undefined,
} satisfies Handlers<Log>

function bound(): { operations: Operations; calls: unknown[] } {
  const calls: unknown[] = []
  return { operations: bindHandlers(handlers, { calls }), calls }
}

test('a handler gets the context, the normal form of the request, and the options', async () => {
  const { operations, calls } = bound()
  const options = { dialect: 'lance' } as const
  expect(await operations.countTableRows({ id: ['', 't'] }, options)).toBe(7)
  expect(await operations.countTableRows({ id: ['t'], predicate: undefined })).toBe(7)
  expect(calls).toStrictEqual([{ id: ['t'] }, options, { id: ['t'] }, {}])
})

test('an operation with Arrow data gets it between request and options', async () => {
  const { operations, calls } = bound()
  const bytes = new Uint8Array(3)
  const options = { table: 'uuid' }
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield bytes
  }
  const stream = pieces()
  await operations.insertIntoTable({ id: ['t'] }, bytes, options)
  await operations.insertIntoTable({ id: ['t'] }, stream)
  expect(calls).toStrictEqual([{ id: ['t'] }, bytes, options, { id: ['t'] }, stream, {}])
  const call = operations.insertIntoTable as (...given: unknown[]) => Promise<unknown>
  for (const body of [undefined, null, [1], { signal: undefined }]) {
    await expect(call({ id: ['t'] }, body)).rejects.toThrow(
      /insertIntoTable: the body must be bytes of Arrow IPC/,
    )
  }
})

test('a write with a key has the fingerprint of its request, from any caller; a read does not', async () => {
  const { operations, calls } = bound()
  const keyed = { idempotencyKey: 'k' }
  const hashOf = async (request: { id: readonly string[]; mode?: 'Append' | 'Overwrite' }, more = {}) => {
    calls.length = 0
    await operations.insertIntoTable(request, new Uint8Array(), { ...keyed, ...more })
    const { callKey } = calls[2] as HandlerOptions
    callKey!.endRows('rows')
    return callKey!.fingerprint
  }
  const hash = await hashOf({ id: ['t'] })
  expect(await hashOf({ id: ['t'], identity: { api_key: 'x' } } as never)).toBe(hash)
  expect(await hashOf({ id: ['u'] })).not.toBe(hash)
  const bad = operations.insertIntoTable({ id: ['t'] }, new Uint8Array(), { idempotencyKey: 5 as never })
  await expect(bad).rejects.toThrow(/idempotencyKey must be a string/)
  const empty = operations.insertIntoTable({ id: ['t'] }, new Uint8Array(), { idempotencyKey: '' })
  await expect(empty).rejects.toThrow(/idempotencyKey must be a string that is not empty, got ""/)
  expect(await hashOf({ id: ['t'], mode: 'Overwrite' })).not.toBe(hash)
  expect(await hashOf({ id: ['t'] }, { table: 'uuid' })).not.toBe(hash)
  calls.length = 0
  await operations.countTableRows({ id: ['t'] }, keyed)
  expect(calls).toStrictEqual([{ id: ['t'] }, keyed])
})

test('A-015 a call without id is InvalidInput, named after the operation', async () => {
  const { operations } = bound()
  const call = operations.queryTable as (request: unknown) => Promise<unknown>
  await expect(call({ k: 1, vector: null })).rejects.toMatchObject({
    code: 13,
    message: 'queryTable needs id: an array of at least 1 element',
  })
  for (const request of [undefined, null, 'docs', []]) {
    await expect(call(request)).rejects.toMatchObject({
      code: 13,
      message: expect.stringContaining('queryTable'),
    })
  }
})

test('A-011 the root is not a table', async () => {
  const { operations } = bound()
  for (const id of [[], ['']]) {
    await expect(operations.tableExists({ id })).rejects.toMatchObject({ code: 13, status: 400 })
  }
})

test('an operation without handler is unsupported', async () => {
  const { operations } = bound()
  await expect(operations.restoreTable({ id: ['t'], version: 1 })).rejects.toMatchObject({
    code: 0,
    status: 406,
    message: 'restoreTable is not supported yet',
  })
})

test('an aborted signal rejects with its reason, and no handler runs', async () => {
  const { operations, calls } = bound()
  const reason = new Error('enough')
  await expect(operations.countTableRows({ id: ['t'] }, { signal: AbortSignal.abort(reason) })).rejects.toBe(
    reason,
  )
  expect(calls).toStrictEqual([])
})

describe('types', () => {
  test('a missing handler does not compile', () => {
    const { queryTable: _, ...rest } = handlers
    // @ts-expect-error queryTable is missing
    const incomplete: Handlers<Log> = rest
    expect(incomplete).not.toHaveProperty('queryTable')
  })

  test('a handler with the wrong reply does not compile', () => {
    // @ts-expect-error a count is a number
    const wrong: Handlers<Log> = { ...handlers, countTableRows: async () => ({ count: 7 }) }
    expect(wrong.countTableRows).toBeTypeOf('function')
  })

  test('requests and replies have the fields of their shapes', () => {
    const request: Request<'queryTable'> = { id: ['t'], k: 1, vector: { single_vector: new Float32Array(2) } }
    // @ts-expect-error k is required
    const incomplete: Request<'queryTable'> = { id: ['t'] }
    const reply: Reply<'updateTable'> = { updated_rows: 1, version: 2 }
    // @ts-expect-error one spelling only
    const index: Request<'createTableIndex'> = { id: ['t'], column: 'a', index_type: 'btree' }
    const count: Reply<'countTableRows'> = 5
    const plan: Reply<'explainTableQueryPlan'> = 'scan'
    const nothing: Reply<'tableExists'> = undefined
    expect([request, incomplete, reply, index, count, plan, nothing]).toHaveLength(7)
  })
})

test('more arguments than an operation takes are refused', async () => {
  const { operations, calls } = bound()
  const call = operations as unknown as Record<string, (...all: unknown[]) => Promise<unknown>>
  await expect(call.countTableRows!({ id: ['t'] }, {}, 'more')).rejects.toMatchObject({ code: 13 })
  await expect(call.insertIntoTable!({ id: ['t'] }, new Uint8Array(8), {}, 1)).rejects.toMatchObject({
    code: 13,
  })
  expect(calls).toEqual([])
})

test('requests and options that handles do not validate again are in their normal form', async () => {
  const log = { calls: [] as unknown[] }
  const bound = bindToTable(bindHandlers(handlers, log), 'u')
  await bound.countTableRows({ id: ['t'] })
  await bound.countTableRows({ id: ['t'] }, {})
  const [, first, , second] = log.calls
  expect(first).toBe(second)
  expect(normalForms.has(first as object)).toBe(true)
  expect(first).toStrictEqual(parse(serverCallShape, { table: 'u' }, 'countTableRows'))
  const table = new Table(bindHandlers(handlers, log), ['a', 't'], { uuid: 'u', takesPlainRows: true })
  log.calls.length = 0
  await table.add([{ x: 1 }])
  const [request, , options] = log.calls
  expect(normalForms.has(request as object)).toBe(true)
  expect(request).toStrictEqual(parse(operations.insertIntoTable.request, request, 'insertIntoTable'))
  expect(options).toStrictEqual({ table: 'u' })
})
