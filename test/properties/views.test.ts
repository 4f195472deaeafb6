/** after a refresh a view is its query over the source, whatever became of that; rows that stayed have their ids. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Namespace, type Table } from '../../src/index.js'
import { changeRows, expireVersion, liveVersions, rowSteps } from '../support/row-steps.js'

const step = fc.oneof(
  ...rowSteps,
  { weight: 1, arbitrary: fc.record({ expire: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ optimize: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ column: fc.constantFrom('add', 'drop', 'rename', 'again') }) },
  { weight: 4, arbitrary: fc.record({ refresh: fc.option(fc.nat()) }) },
)
const definitions = [
  { columns: { k: 'k', y: 'x + 1' }, where: 'x > 1' },
  { columns: ['k', 'x'] },
  { where: 'k < 5 OR x IS NULL' },
  { columns: { x: 'x', at: '_rowoffset' }, where: 'x >= 0' },
] as const

test.each(definitions)('%j', async definition => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async steps => {
      const ns = await connect('memory://')
      const source = await ns.createTable('t', [
        { k: 0, x: 1, text: null as string | null },
        { k: 1, x: null, text: 'b' },
      ])
      const view = await ns.createView('v', { source: 't', ...definition })
      for (const each of steps) {
        if ('refresh' in each) await checkRefresh(ns, source, view, definition, each.refresh)
        else await change(ns, source, each).catch(isRefused)
      }
      await checkRefresh(ns, source, view, definition, null)
      expect((await ns.verify()).problems).toEqual([])
      await ns.close()
    }),
    { numRuns: 8 },
  )
})

type Step = Exclude<typeof step extends fc.Arbitrary<infer S> ? S : never, { refresh: unknown }>

async function change(ns: Namespace, source: Table, each: Step): Promise<void> {
  if ('optimize' in each) await ns.optimize()
  else if ('expire' in each) {
    const live = await liveVersions(source)
    await expireVersion(ns, source, live[each.expire % live.length]!)
  } else if (!('column' in each)) await changeRows(source, each)
  else if (each.column === 'add') await source.addColumns({ more: 'k + 1' })
  else if (each.column === 'drop') await source.dropColumns(['more'])
  else if (each.column === 'rename') await source.alterColumns({ text: { rename: 'note' } })
  else {
    // Another column of that name.
    await source.addColumns({ copy: 'x + 1' })
    await source.dropColumns(['x'])
    await source.alterColumns({ copy: { rename: 'x' } })
  }
}

/** Columns that are not there, or are there already. */
function isRefused(error: { readonly code?: number }): void {
  expect([12, 13, 20]).toContain(error.code)
}

/** `which`: the version, as far as it goes; null for the newest. */
async function checkRefresh(
  ns: Namespace,
  source: Table,
  view: Table,
  definition: (typeof definitions)[number],
  which: number | null,
): Promise<void> {
  const live = await liveVersions(source)
  const version = which === null ? live.at(-1)! : live[which % live.length]!
  const before = await view.query().withRowId().toArray()
  const at = await source.checkout(version)
  const columns = 'columns' in definition ? definition.columns : ['k', 'x', 'text']
  const query = at
    .query()
    .select(columns as readonly string[])
    .withRowId()
  const expected = await ('where' in definition ? query.where(definition.where) : query)
    .toArray()
    .catch((error: { readonly code?: number }) => {
      expect(error.code).toBe(12)
      return null
    })
  if (expected === null) {
    await expect(view.refresh({ version })).rejects.toThrow(/does not fit/)
    expect(await view.query().withRowId().toArray()).toEqual(before)
    return
  }
  await view.refresh({ version })
  const byId = (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>) =>
    Number(a._rowid) - Number(b._rowid)
  // The source is one table all the time, so the first row of the view has the id of the first row of the source.
  expect((await view.query().withRowId().toArray()).sort(byId)).toEqual([...expected].sort(byId))
  const { metadata } = await ns.operations.describeTable({ id: ['v'] })
  expect(metadata!['geneva::view::base_version']).toBe(String(version))
}
