/** Random changes of the rows of a table with the columns `k`, `x` and `text`, for properties of what follows from them. */
import fc from 'fast-check'
import type { Namespace, Table } from '../../src/index.js'

export const small = fc.integer({ min: 0, max: 9 })
const value = fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 5 }))
const rows = fc.array(fc.record({ k: small, x: value }), { minLength: 1, maxLength: 6 })

export const rowSteps = [
  { weight: 3, arbitrary: fc.record({ add: rows, long: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ update: value, where: small }) },
  { weight: 2, arbitrary: fc.record({ delete: small }) },
  { weight: 2, arbitrary: fc.record({ merge: rows }) },
  { weight: 1, arbitrary: fc.record({ overwrite: rows }) },
  { weight: 2, arbitrary: fc.record({ restore: fc.nat() }) },
] as const

export type RowStep = (typeof rowSteps)[number]['arbitrary'] extends fc.Arbitrary<infer Step> ? Step : never

export async function changeRows(table: Table, each: RowStep): Promise<void> {
  // Long rows do not ride in the slot.
  if ('add' in each) await table.add(withText(each.add, each.long))
  else if ('update' in each) await table.update({ x: each.update }, 'k = ?', [each.where])
  else if ('delete' in each) await table.delete('k = ?', [each.delete])
  else if ('merge' in each) {
    // A key may be there several times, which a merge refuses for rows of the source only.
    const source = [...new Map(each.merge.map(row => [row.k, row])).values()]
    await table.mergeInsert('k').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source)
  } else if ('overwrite' in each) await table.add(withText(each.overwrite, false), { mode: 'overwrite' })
  else {
    const live = await liveVersions(table)
    await table.restore(live[each.restore % live.length]!)
  }
}

export async function liveVersions(table: Table): Promise<number[]> {
  return (await table.versions()).map(({ version }) => version)
}

export async function expireVersion(ns: Namespace, table: Table, version: number): Promise<void> {
  const ranges = [{ start_version: version, end_version: version + 1 }]
  await ns.operations.batchDeleteTableVersions({ id: table.id, ranges })
}

function withText(some: readonly { readonly k: number; readonly x: number | null }[], isLong: boolean) {
  return some.map(row => {
    const { k } = row
    return { ...row, text: isLong ? `${'long '.repeat(5000)}k${k}` : k % 2 === 0 ? null : `k${k} k${k % 5}` }
  })
}
