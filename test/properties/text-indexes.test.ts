/** Whatever becomes of a table and of its text indexes: what a query finds, with which scores and in which order, is what loops over all rows find. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Namespace, type Schema, type Table, type TextQuery } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { TextOracle, type TextRow } from '../support/text-oracle.js'

const words = ['cat', 'cats', 'dog', 'bird', 'fish', 'fishing', 'red', 'the', 'brown', 'crown', 'Straße', 'x']
const text = fc.array(fc.constantFrom(...words), { maxLength: 6 }).map(list => list.join(' '))
const row = fc.record({
  a: fc.option(text),
  tags: fc.option(fc.array(fc.option(text, { freq: 5 }), { maxLength: 3 })),
  n: fc.nat(9),
})
type NewRow = typeof row extends fc.Arbitrary<infer R> ? R : never

const column = fc.constantFrom('a', 'tags')
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ add: fc.array(row, { minLength: 1, maxLength: 40 }) }) },
  { weight: 3, arbitrary: fc.record({ index: column, positions: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ delete: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ update: fc.nat(9), to: text }) },
  { weight: 2, arbitrary: fc.record({ optimize: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ drop: column }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const operator = fc.constantFrom('or', 'and') as fc.Arbitrary<'or' | 'and'>
const fuzziness = fc.constantFrom(0, 0, 1, 2, 'auto') as fc.Arbitrary<number | 'auto'>
const asked = fc
  .tuple(
    fc.array(fc.constantFrom(...words, 'cap', 'blown', 'FI', 'b', 'straß', 'th'), {
      minLength: 0,
      maxLength: 3,
    }),
    fc.constantFrom('', '', '', ' '),
  )
  .map(([list, end]) => list.join(' ') + end)
const query = fc.letrec<{ node: TextQuery }>(tie => ({
  node: fc.oneof(
    { maxDepth: 2 },
    fc.record(
      {
        match: asked,
        column,
        operator,
        fuzziness,
        prefixLength: fc.nat(2),
        maxExpansions: fc.constantFrom(1, 2, 50),
        prefix: fc.boolean(),
        boost: fc.constantFrom(0, 1, 2.5),
      },
      { requiredKeys: ['match'] },
    ),
    fc.record({ phrase: asked, column, slop: fc.nat(2) }, { requiredKeys: ['phrase'] }),
    fc.record(
      { multiMatch: asked, columns: fc.constant(['a', 'tags']), operator, prefix: fc.boolean() },
      { requiredKeys: ['multiMatch', 'columns'] },
    ),
    fc.record(
      { positive: tie('node'), negative: tie('node'), negativeBoost: fc.constantFrom(0, 0.5, 2) },
      { requiredKeys: ['positive', 'negative'] },
    ),
    fc.record({
      must: fc.array(tie('node'), { maxLength: 2 }),
      should: fc.array(tie('node'), { minLength: 1, maxLength: 2 }),
      mustNot: fc.array(tie('node'), { maxLength: 1 }),
    }),
  ),
})).node

const schema: Schema = {
  fields: [
    { name: 'a', type: { kind: 'utf8', large: false }, nullable: true },
    {
      name: 'tags',
      type: {
        kind: 'list',
        large: false,
        child: { name: 'item', type: { kind: 'utf8', large: false }, nullable: true },
      },
      nullable: true,
    },
    { name: 'n', type: { kind: 'int', bits: 32, signed: true }, nullable: true },
  ],
}

const life = fc.record({
  first: fc.array(row, { maxLength: 30 }),
  steps: fc.array(step, { minLength: 2, maxLength: 7 }),
  queries: fc.array(
    fc.record({
      query: fc.oneof({ weight: 1, arbitrary: asked }, { weight: 3, arbitrary: query }),
      where: fc.option(fc.nat(9)),
      limit: fc.constantFrom(1, 3, 1000),
      offset: fc.constantFrom(0, 0, 1),
    }),
    { minLength: 3, maxLength: 6 },
  ),
})

test('text indexes find the rows of a scan under any changes, index merges, created and dropped indexes', async () => {
  await fc.assert(
    fc.asyncProperty(life, async ({ first, steps, queries }) => {
      const ns = await connect('memory://', { store: new MemoryStore('memory://') })
      try {
        const table = await ns.createTable('t', first, { schema })
        const state = new State(ns, table)
        for (const each of steps) await state.carryOut(each)
        for (const each of queries) await state.check(each)
      } finally {
        await ns.close()
      }
    }),
    { numRuns: 30 },
  )
})

type Asked = typeof life extends fc.Arbitrary<{ queries: (infer Q)[] }> ? Q : never

class State {
  readonly #ns: Namespace
  readonly #table: Table
  /** By column: whether positions are kept. */
  readonly #indexes = new Map<string, boolean>()
  /** Rows that have died count among those that have a term until a fold leaves them out: then scores are others. */
  #hasDead = false

  constructor(ns: Namespace, table: Table) {
    this.#ns = ns
    this.#table = table
  }

  async carryOut(step: Step): Promise<void> {
    if ('add' in step) await this.#table.add(step.add as NewRow[])
    else if ('index' in step) {
      await this.#table.createIndex(step.index, { type: 'FTS', withPosition: step.positions })
      await this.#table.waitForIndex([`${step.index}_idx`])
      this.#indexes.set(step.index, step.positions)
    } else if ('optimize' in step) await this.#ns.optimize()
    else if ('drop' in step) {
      if (this.#indexes.delete(step.drop)) await this.#table.dropIndex(`${step.drop}_idx`)
    } else {
      const where = `n = ${'delete' in step ? step.delete : step.update}`
      if ('delete' in step) await this.#table.delete(where)
      else await this.#table.update({ a: step.to }, where)
      this.#hasDead = true
    }
  }

  async check({ query, where, limit, offset }: Asked): Promise<void> {
    const rows = await this.#table.query().withRowId().toArray()
    const columns = this.#indexes.size > 0 ? [...this.#indexes.keys()] : ['a', 'tags']
    const oracle = new TextOracle(rows as unknown as TextRow[], ['a', 'tags'])
    let search = this.#table.query().fullText(query).withRowId().select(['n']).limit(limit).offset(offset)
    if (where !== null) search = search.where(`n <= ${where}`)
    const wanted = Array.from(oracle.search(query, columns), ([row, score]) => ({
      id: rows[row]!._rowid,
      n: rows[row]!.n as number | null,
      score,
    })).filter(({ n }) => where === null || (n !== null && n <= where))
    if (this.#refuses(query, columns)) {
      await expect(search.toArray()).rejects.toThrow('positions')
      return
    }
    const found = (await search.toArray()) as { _rowid: number; _score: number }[]
    wanted.sort((a, b) => b.score - a.score || a.id - b.id)
    const window = wanted.slice(offset, offset + limit)
    if (!this.#hasDead) {
      expect(found.map(({ _rowid }) => _rowid)).toEqual(window.map(({ id }) => id))
      for (const [i, { score }] of window.entries()) {
        const off = Math.abs(found[i]!._score - score)
        expect(off).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(score)))
      }
    } else {
      expect(found.length).toBe(window.length)
      if (limit === 1000 && offset === 0) {
        expect(new Set(found.map(({ _rowid }) => _rowid))).toEqual(new Set(window.map(({ id }) => id)))
      }
    }
    const scores = found.map(({ _score }) => _score)
    expect(scores).toEqual([...scores].sort((a, b) => b - a))
  }

  #refuses(query: string | TextQuery, columns: readonly string[]): boolean {
    if (typeof query === 'string') return false
    if ('phrase' in query) {
      const own = query.column === undefined ? columns : [query.column]
      return own.some(column => this.#indexes.get(column) === false)
    }
    if ('positive' in query)
      return this.#refuses(query.positive, columns) || this.#refuses(query.negative, columns)
    if ('match' in query || 'multiMatch' in query) return false
    return [...(query.must ?? []), ...(query.should ?? []), ...(query.mustNot ?? [])].some(each =>
      this.#refuses(each, columns),
    )
  }
}
