/** Searches for texts that need no request return what the request returns, and fail as the request fails. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Namespace, type Row, type Schema, type Table } from '../../src/index.js'
import { directReadsOf } from '../../src/protocol/direct-reads.js'
import { outcomeOf } from '../support/outcome.js'

const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
    { name: 'body', type: { kind: 'utf8', large: false }, nullable: true },
    { name: '__proto__', type: { kind: 'utf8', large: false }, nullable: true },
    {
      name: 'tags',
      type: {
        kind: 'list',
        large: false,
        child: { name: 'item', type: { kind: 'utf8', large: false }, nullable: true },
      },
      nullable: true,
    },
  ],
}

const words = ['wheat', 'wheats', 'arrow', 'sheaf', 'sheaves', 'the', 'köln', 'rust']
const word = fc.constantFrom(...words)
const text = fc.oneof(
  { weight: 8, arbitrary: fc.array(word, { maxLength: 6 }).map(all => all.join(' ')) },
  { weight: 1, arbitrary: fc.constant(null) },
)
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ add: fc.array(text, { minLength: 1, maxLength: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ many: text }) },
  { weight: 2, arbitrary: fc.record({ update: fc.nat(9), to: text }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      { index: 'body', withPosition: true },
      { index: 'body', withPosition: false },
      { index: 'tags', withPosition: true },
      { optimize: true },
      { snapshot: true },
    ),
  },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const phrase = fc.array(word, { minLength: 1, maxLength: 3 }).map(all => all.join(' '))
const searched = fc.oneof(
  phrase,
  fc.record({ match: phrase, operator: fc.constantFrom('or' as const, 'and' as const) }),
  fc.record({ phrase, slop: fc.nat(2) }),
  fc.record({ match: fc.constantFrom('whe', 'she', 'arrow'), prefix: fc.constant(true) }),
  fc.record({ match: word, fuzziness: fc.constantFrom(0, 1, 3, 'auto' as const) }),
  fc.record({ match: word, column: fc.constantFrom('body', 'tags', 'BODY', 'id', 'gone') }),
  fc.record({ multiMatch: phrase, columns: fc.constant(['body', 'tags']) }),
  fc.record({ must: fc.array(fc.record({ match: word })), mustNot: fc.array(fc.record({ match: word })) }),
  fc.record({ positive: fc.record({ match: word }), negative: fc.record({ phrase }) }),
)
const queries = fc.record({
  text: searched,
  columns: fc.constantFrom(undefined, undefined, ['body'], ['tags', 'body'], []),
  requireIndex: fc.constantFrom(undefined, undefined, true),
  fast: fc.constantFrom(false, false, true),
  select: fc.constantFrom(
    null,
    ['id'],
    ['body', 'tags'],
    ['_score', 'id'],
    ['id', '_score', '__proto__'],
    ['ID'],
    ['gone'],
    ['_rowid'],
    [],
  ),
  limit: fc.constantFrom(undefined, undefined, 0, 1, 2, 2000),
  offset: fc.constantFrom(0, 0, 1, 3),
  int64: fc.constantFrom(undefined, 'bigint' as const, 'string' as const),
})
type Query = typeof queries extends fc.Arbitrary<infer Q> ? Q : never

/** A root with one table, and all handles through which the test reads. */
class Case {
  readonly handles: Table<Row>[] = []
  readonly #ns: Namespace
  readonly #table: Table<Row>
  readonly #snapshots: Namespace[] = []
  #rows = 0

  private constructor(ns: Namespace, table: Table<Row>) {
    this.#ns = ns
    this.#table = table
    this.handles.push(table)
  }

  static async of(): Promise<Case> {
    const ns = await connect('memory://', { maintenance: { compact: false } })
    return new Case(ns, (await ns.createTable('t', [], { schema })) as Table<Row>)
  }

  async run(step: Step): Promise<void> {
    const table = this.#table
    const row = (body: string | null) => {
      const id = this.#rows++
      return { id, body, ['__proto__']: `p${id}`, tags: body?.split(' ') ?? null } as Row
    }
    if ('add' in step) await table.add(step.add.map(row))
    else if ('many' in step) await table.add(Array.from({ length: 60 }, () => row(step.many)))
    else if ('update' in step) await table.update({ body: step.to }, 'id % 10 = ?', [step.update])
    else if ('remove' in step) await table.delete('id % 10 = ?', [step.remove])
    else if ('index' in step) {
      const { name } = await table.createIndex(step.index, {
        type: 'FTS',
        withPosition: step.withPosition === true,
        replace: true,
      })
      await table.waitForIndex([name])
    } else if ('optimize' in step) await this.#ns.optimize()
    else {
      const snapshot = await this.#ns.snapshot()
      this.#snapshots.push(snapshot)
      this.handles.push((await snapshot.openTable('t')) as Table<Row>)
      this.handles.push(await table.checkout(await table.version()))
    }
  }

  async close(): Promise<void> {
    for (const snapshot of this.#snapshots) await snapshot.close()
    await this.#ns.close()
  }
}

/** Return the outcome of a call, with rows as lists of names and values, so that the order of the columns counts. */
function listed(run: () => unknown) {
  return outcomeOf(async () => {
    const rows = await run()
    return Array.isArray(rows) ? rows.map(row => Object.entries(row as object)) : rows
  })
}

/** With a signal, a call is always sent as a request. */
const { signal } = new AbortController()

async function check(table: Table<Row>, query: Query): Promise<void> {
  const { text, columns, requireIndex, fast, select, limit, offset, int64 } = query
  const build = () => {
    const options = { ...(columns && { columns }), ...(requireIndex && { requireIndex }) }
    let search = table.query().fullText(text as string, options)
    if (fast) search = search.fastSearch()
    if (select !== null) search = search.select(select as never) as never
    if (limit !== undefined) search = search.limit(limit)
    return offset === 0 ? search : search.offset(offset)
  }
  const how = { ...(int64 !== undefined && { int64 }) }
  const requested = await listed(() => build().toArray({ ...how, signal }))
  for (let time = 0; time < 2; time++) {
    expect(await listed(() => build().toArray(how))).toEqual(requested)
    expect(await listed(() => build().prepare().all([], how))).toEqual(requested)
  }
  const first = await listed(() => build().first({ ...how, signal }))
  expect(await listed(() => build().first(how))).toEqual(first)
  expect(await listed(() => build().prepare().first([], how))).toEqual(first)
}

test('searches for texts return the rows of the request, for any history of a table and any query', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 10 }),
      fc.array(queries, { minLength: 4, maxLength: 8 }),
      async (steps, asked) => {
        const of = await Case.of()
        try {
          for (const [i, next] of steps.entries()) {
            await of.run(next)
            const some = i === steps.length - 1 ? asked : asked.slice(0, 1)
            for (const query of some) for (const table of of.handles) await check(table, query)
          }
        } finally {
          await of.close()
        }
      },
    ),
    { numRuns: process.env.SHEAF_SEED === undefined ? 8 : 60 },
  )
})

async function indexed(rows: number) {
  const ns = await connect('memory://', { maintenance: { compact: false } })
  const table = await ns.createTable(
    't',
    Array.from({ length: rows }, (_, id) => ({ id, text: `row ${id} of ${id % 3 === 0 ? 'wheat' : 'rye'}` })),
  )
  const { name } = await table.createIndex('text', { type: 'FTS', withPosition: true })
  await table.waitForIndex([name])
  return { ns, table }
}

test('a text is searched without a request, and new commits are seen', async () => {
  const { ns, table } = await indexed(300)
  const query = { id: ['t'], full_text_query: { string_query: { query: '42' } } }
  const read = directReadsOf(ns.operations)!.prepare(query)!
  await table.search('42').toArray()
  const [row] = (await read.rows(undefined, query, {}))!
  expect(row).toMatchObject({ id: 42, text: 'row 42 of wheat' })
  // The pages and columns are in memory now, so that the read need not wait.
  expect(read.rows(undefined, query, {})).toEqual([row])
  await table.add([{ id: 300, text: 'again 42' }])
  // The first request loads the manifest of the new version.
  expect(read.rows(undefined, query, {})).toBeNull()
  await table.search('42').toArray()
  expect((await read.rows(undefined, query, {}))!.map(({ id }) => id)).toEqual([300, 42])
  await table.delete('id = 42')
  expect((await table.search('42').toArray()).map(({ id }) => id)).toEqual([300])
  // Each read has its own text.
  const other = { ...query, full_text_query: { string_query: { query: '7' } } }
  expect((await read.rows(undefined, other, {}))!.map(({ id }) => id)).toEqual([7])
  await ns.close()
  await expect(table.search('42').toArray()).rejects.toThrow('closed')
})

test('searches one after the other have their own columns and versions', async () => {
  const { ns, table } = await indexed(60)
  const before = await table.checkout(await table.version())
  await table.update({ text: 'row 7 again' }, 'id = 7')
  // The first searches load the versions.
  for (const of of [table, before]) await of.search('7').toArray()
  for (let time = 0; time < 2; time++) {
    expect(await table.search('7').select(['text']).toArray()).toMatchObject([{ text: 'row 7 again' }])
    const [row] = await table.search('7').select(['id']).toArray()
    expect(row).toEqual({ id: 7, _score: expect.any(Number) })
    expect(await before.search('7').select(['text']).toArray()).toMatchObject([{ text: 'row 7 of rye' }])
    expect(Object.keys((await table.search('7').toArray())[0]!)).toEqual(['id', 'text', '_score'])
    expect(Object.keys((await table.search('7').select(['_score', 'text']).first())!)).toEqual([
      '_score',
      'text',
    ])
  }
  await ns.close()
})

test('queries with other parts than a text, columns and a window are sent as requests', async () => {
  const { ns } = await indexed(10)
  const reads = directReadsOf(ns.operations)!
  const query = { id: ['t'], full_text_query: { string_query: { query: 'wheat' } } }
  expect(reads.prepare({ ...query, filter: 'id = 1' })).toBeNull()
  expect(reads.prepare({ ...query, vector: { single_vector: [1] } } as never)).toBeNull()
  expect(reads.prepare({ ...query, columns: { column_aliases: { a: 'id' } } })).toBeNull()
  const read = reads.prepare(query)!
  expect(read.rows([1], query, {})).toBeNull()
  expect(read.rows(undefined, { ...query, k: 2000 }, {})).toBeNull()
  expect(read.rows(undefined, query, { signal })).toBeNull()
  expect(read.count(undefined, {})).toBeNull()
  await ns.close()
})

test('searches inside of a transaction see its changes, and searches around it are refused', async () => {
  const { ns, table } = await indexed(30)
  expect(await table.search('7').toArray()).toHaveLength(1)
  await ns.transaction(async tx => {
    const inside = await tx.openTable('t')
    await inside.update({ text: 'uncommitted 7' }, 'id = 5')
    expect(await inside.search('7').toArray()).toHaveLength(2)
    await expect(table.search('7').toArray()).rejects.toThrow('inside of a transaction')
  })
  expect(await table.search('7').toArray()).toHaveLength(2)
  await ns.close()
})

test('an empty list of columns means all text columns, also without a request', async () => {
  const { ns, table } = await indexed(9)
  const search = () => table.query().fullText('wheat', { columns: [] }).toArray()
  // The first search loads the code of direct searches.
  for (let time = 0; time < 3; time++) expect(await search()).toHaveLength(3)
  await ns.close()
})
