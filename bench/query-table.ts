/** Measures a search through the public API, compared with the kernel over the same vectors. */
import { connect } from '../src/index.js'
import { type Bench, race } from './harness.js'
import { kernel, makeColumn, makeQuery } from './query-exact.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly k: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'query-table',
  question: 'how much time does Table.search need in addition to the kernel that computes the distances?',
  small: { rows: 5_000, dim: 64, k: 10, rounds: 3 },
  full: { rows: 1_000_000, dim: 128, k: 10, rounds: 25 },
  async run({ rows, dim, k, rounds }) {
    const column = makeColumn('f32', rows, dim, 1)
    const query = makeQuery('f32', dim, 2)
    const ns = await connect('memory://')
    const table = await ns.createTable('t', vectors())
    function* vectors() {
      let id = 0
      for (const { values, rows } of column) {
        for (let row = 0; row < rows; row++)
          yield { id: id++, v: values.subarray(row * dim, (row + 1) * dim) as Float32Array }
      }
    }
    const search = table.search(query).select(['id']).limit(k)
    const ordinals = (found: readonly Record<string, unknown>[]) =>
      Uint32Array.from(found, row => Number(row.id))
    const result = await race({
      title: `${rows} x ${dim} f32, l2, k ${k}`,
      contestants: [
        kernel(column, query, 'l2', k),
        { name: 'search', run: async () => ordinals(await search.toArray()) },
        {
          name: 'search, half filtered',
          run: async () => ordinals(await search.where('id % 2 = 0').toArray()),
        },
      ],
      rounds,
      bytes: rows * dim * 4,
    })
    await ns.close()
    return [result]
  },
}
