import { expect, test } from 'vitest'
import { decideAlterTransaction, viewTransaction } from '../../src/catalog/transactions.js'
import type { TransactionAction } from '../../src/protocol/transaction-shapes.js'
import { commit, emptyCatalog } from '../support/catalog.js'

const queued = commit(emptyCatalog, 5, { op: 'job', state: 'Queued', kind: 'k', spec: null })
const [job] = [...queued.jobs.keys()]
const done = '1-00000000-0000-4000-8000-000000000000'
const computed = new Set(['uuid'])

function alter(state: typeof queued, id: string, ...actions: TransactionAction[]) {
  return decideAlterTransaction(id, viewTransaction(state, id), actions, computed)
}

const set = (key: string, value: string, mode?: 'Overwrite' | 'Fail' | 'Skip'): TransactionAction => ({
  setPropertyAction: { key, value, mode },
})
const unset = (key: string, mode?: 'Skip' | 'Fail'): TransactionAction => ({
  unsetPropertyAction: { key, mode },
})
const status = (wanted: 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'): TransactionAction => ({
  setStatusAction: { status: wanted },
})
const refused = (code: number) => expect.objectContaining({ code })

test('A-148: a commit has succeeded and stays so', () => {
  expect(alter(emptyCatalog, done, status('Succeeded'))).toEqual({ ops: [], status: 'Succeeded', props: {} })
  for (const other of ['Queued', 'Running', 'Failed', 'Canceled'] as const) {
    expect(() => alter(emptyCatalog, done, status(other))).toThrow(refused(14))
  }
})

test('A-149: callers may only set an open job to canceled', () => {
  expect(alter(queued, job!, status('Queued')).ops).toEqual([])
  for (const other of ['Running', 'Succeeded', 'Failed'] as const) {
    expect(() => alter(queued, job!, status(other))).toThrow(refused(14))
  }
  const canceled = commit(queued, 6, ...alter(queued, job!, set('why', 'late'), status('Canceled')).ops)
  expect(canceled.jobs.size).toBe(0)
  expect(viewTransaction(canceled, job!)).toEqual({ status: 'Canceled', props: { why: 'late' }, job: null })
  expect(() => alter(canceled, job!, status('Running'))).toThrow(refused(14))
})

test('A-147: modes of setting and unsetting', () => {
  const one = commit(emptyCatalog, 1, ...alter(emptyCatalog, done, set('a', '1')).ops)
  expect(alter(one, done, set('a', '2')).props).toEqual({ a: '2' })
  expect(alter(one, done, set('a', '2', 'Skip')).ops).toEqual([])
  expect(() => alter(one, done, set('a', '2', 'Fail'))).toThrow(refused(14))
  expect(alter(one, done, set('b', '2', 'Fail')).props).toEqual({ a: '1', b: '2' })
  expect(alter(one, done, unset('b')).ops).toEqual([])
  expect(() => alter(one, done, unset('b', 'Fail'))).toThrow(refused(14))
  const none = commit(one, 2, ...alter(one, done, unset('a', 'Fail')).ops)
  expect(viewTransaction(none, done).props).toEqual({})
})

test('A-144: actions apply in order, and one that fails undoes all', () => {
  expect(alter(emptyCatalog, done, set('a', '1'), unset('a', 'Fail'), set('a', '2', 'Fail')).props).toEqual({
    a: '2',
  })
  expect(() => alter(emptyCatalog, done, set('a', '1'), unset('b', 'Fail'))).toThrow(refused(14))
})

test('callers cannot set the operation recorded in a version', () => {
  expect(() => alter(emptyCatalog, done, set('uuid', 'x'))).toThrow(refused(13))
  expect(() => alter(emptyCatalog, done, unset('uuid'))).toThrow(refused(13))
})

test('a property may have any other name', () => {
  const named = commit(emptyCatalog, 1, ...alter(emptyCatalog, done, set('__proto__', 'x')).ops)
  expect(Object.entries(viewTransaction(named, done).props)).toEqual([['__proto__', 'x']])
})
