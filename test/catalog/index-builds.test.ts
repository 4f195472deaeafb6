/** What is remembered of builds that failed, and until when. */
import { expect, test } from 'vitest'
import { queuedBuild } from '../../src/catalog/index-builds.js'
import type { CatalogOp } from '../../src/catalog/ops.js'
import type { CatalogState } from '../../src/catalog/state.js'
import { decideDeclareTable } from '../../src/catalog/tables.js'
import { formatTransactionId } from '../../src/commit/transaction-id.js'
import { commit, emptyCatalog, emptyChange } from '../support/catalog.js'

const specOf = (name: string) => ({ name, uuid: `of ${name}`, kind: 'BTREE', field: 0, ts: 1 }) as const

const withTable = commit(
  emptyCatalog,
  1,
  decideDeclareTable(emptyCatalog, ['t'], 'u', {}),
  emptyChange('u', 1),
)

function failed(state: CatalogState, slot: number, name: string): CatalogState {
  const id = formatTransactionId(slot, `txn-${slot}`)
  const queued = commit(state, slot, queuedBuild(specOf(name), 'u'))
  return commit(queued, slot + 1, { op: 'job', state: 'Failed', id, reason: `no ${name}` })
}

const remembered = ({ failedBuilds }: CatalogState) =>
  (failedBuilds.get('u') ?? []).map(({ spec, reason }) => `${spec.name}: ${reason}`)

const both = failed(failed(withTable, 2, 'a'), 4, 'b')

test('the newest failure of each name is remembered, with its reason', () => {
  expect(remembered(both)).toEqual(['a: no a', 'b: no b'])
  expect(remembered(failed(both, 6, 'a'))).toEqual(['b: no b', 'a: no a'])
})

test.each<[string, CatalogOp]>([
  ['an index of that name', emptyChange('u', 2, { indexes: [{ put: { ...specOf('a'), segments: [] } }] })],
  ['its drop', emptyChange('u', 2, { indexes: [{ drop: 'a' }] })],
  ['another build', queuedBuild(specOf('a'), 'u')],
])('it is forgotten by %s', (_, op) => {
  expect(remembered(commit(both, 6, op))).toEqual(['b: no b'])
})

test.each<[string, CatalogOp]>([
  ['dropped', { op: 'drop', t: 'u' }],
  ['deregistered', { op: 'deregister', t: 'u' }],
])('it is forgotten with a table that is %s, and what fails then is not told of it', (_, op) => {
  const gone = commit(commit(both, 6, queuedBuild(specOf('c'), 'u')), 7, op)
  const id = formatTransactionId(6, 'txn-6')
  const after = commit(gone, 8, { op: 'job', state: 'Failed', id })
  expect([gone.failedBuilds.size, after.failedBuilds.size]).toEqual([0, 0])
})

test('a name keeps its newest failure, other jobs leave none, and a table keeps the newest hundred', () => {
  const renamed = commit(both, 6, { op: 'rename', t: 'u', id: ['v'] })
  expect(remembered(renamed)).toHaveLength(2)
  const queued = commit(withTable, 2, { op: 'job', state: 'Queued', kind: 'other', spec: {}, t: 'u' })
  const id = formatTransactionId(2, 'txn-2')
  expect(commit(queued, 3, { op: 'job', state: 'Failed', id }).failedBuilds.size).toBe(0)
  let many = withTable
  for (let i = 0; i < 105; i++) many = failed(many, 2 * i + 2, `i${i}`)
  expect(remembered(many)).toHaveLength(100)
  expect(remembered(many).at(-1)).toBe('i104: no i104')
})
