import { describe, expect, test } from 'vitest'
import {
  claimedOp,
  endedOp,
  type JobOp,
  jobAfter,
  type OpenJob,
  queuedAgainOp,
  queuedOp,
} from '../../src/jobs/job-op.js'

const queued = jobAfter(undefined, queuedOp('kind', [1], 'table'), 'j')!
const running = jobAfter(queued, claimedOp(queued, 'us'), 'j')!
const again = jobAfter(running, queuedAgainOp(running), 'j')!

describe('a job through its life', () => {
  test('is queued, claimed, queued again, claimed again', () => {
    const job = { id: 'j', kind: 'kind', spec: [1], table: 'table' }
    expect(queued).toEqual({ ...job, status: 'Queued', owner: null, epoch: 0 })
    expect(running).toEqual({ ...job, status: 'Running', owner: 'us', epoch: 1 })
    expect(again).toEqual({ ...job, status: 'Queued', owner: null, epoch: 1 })
    expect(jobAfter(again, claimedOp(again, 'them'), 'j')).toEqual({
      ...job,
      status: 'Running',
      owner: 'them',
      epoch: 2,
    })
  })

  test('ends', () => {
    for (const state of ['Succeeded', 'Failed', 'Canceled'] as const) {
      expect(jobAfter(running, endedOp('j', state), 'j')).toBeNull()
    }
    for (const state of ['Failed', 'Canceled'] as const) {
      expect(jobAfter(queued, endedOp('j', state, 'why'), 'j')).toBeNull()
    }
  })

  test('may have no table', () => {
    const free = jobAfter(undefined, queuedOp('kind', null), 'j')!
    expect(free.table).toBeNull()
    expect(queuedAgainOp(free)).toEqual({ op: 'job', state: 'Queued', kind: 'kind', spec: null, id: 'j' })
  })
})

test.each<[string, OpenJob | undefined, JobOp, string]>([
  ['a job is queued twice', queued, queuedOp('kind', null), 'cannot be queued'],
  ['a queued job is queued again', queued, queuedAgainOp(queued), 'cannot be queued'],
  ['an ended job is queued again', undefined, queuedAgainOp(running), 'cannot be queued'],
  ['a running job is claimed', running, claimedOp(running, 'them'), 'cannot be claimed'],
  ['an epoch is used twice', again, claimedOp(queued, 'them'), 'cannot be claimed'],
  ['an ended job is claimed', undefined, claimedOp(queued, 'them'), 'is not open'],
  ['an ended job ends', undefined, endedOp('j', 'Failed'), 'is not open'],
  ['a queued job succeeds', queued, endedOp('j', 'Succeeded'), 'succeeded without being run'],
])('A-148 it is corruption when %s', (_what, job, op, message) => {
  expect(() => jobAfter(job, op, 'j')).toThrow(`job j ${message}`)
})
