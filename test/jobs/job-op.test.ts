import { describe, expect, test } from 'vitest'
import {
  claimedOp,
  endedOp,
  type JobOp,
  jobsAfter,
  type OpenJob,
  queuedAgainOp,
  queuedOp,
  slotOfJob,
  splitOp,
} from '../../src/jobs/job-op.js'
import { PersistentMap } from '../../src/primitives/persistent-map.js'

type Jobs = PersistentMap<OpenJob>

/** The jobs after some operations, which are all of the job `j` where they do not say. */
function afterOps(jobs: Jobs, ...ops: readonly JobOp[]): Jobs {
  return ops.reduce<Jobs>((all, op) => jobsAfter(all, op, op.id ?? 'j', job => job), jobs)
}

const none: Jobs = PersistentMap.empty()

function jobAfter(job: OpenJob | undefined, op: JobOp, id: string): OpenJob | null {
  return afterOps(job === undefined ? none : none.set(id, job), op).get(id) ?? null
}

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
  ['an ended job is queued again', undefined, queuedAgainOp(running), 'is not open'],
  ['a running job is claimed', running, claimedOp(running, 'them'), 'cannot be claimed'],
  ['an epoch is used twice', again, claimedOp(queued, 'them'), 'cannot be claimed'],
  ['an ended job is claimed', undefined, claimedOp(queued, 'them'), 'is not open'],
  ['an ended job ends', undefined, endedOp('j', 'Failed'), 'is not open'],
  ['a queued job is split', queued, splitOp(queued, 'unit', [1]), 'cannot be split'],
  ['a queued job succeeds', queued, endedOp('j', 'Succeeded'), 'succeeded without being run'],
])('A-148 it is corruption when %s', (_what, job, op, message) => {
  expect(() => jobAfter(job, op, 'j')).toThrow(`job j ${message}`)
})

describe('a job that is split', () => {
  const split = afterOps(none.set('j', running), splitOp(running, 'unit', [{ from: 0 }, { from: 5 }]))
  const first = split.get('j.0')!
  const second = split.get('j.1')!
  const oneDone = afterOps(
    split,
    claimedOp(first, 'them'),
    endedOp(first.id, 'Succeeded', undefined, { rows: 5 }),
  )

  test('has units that are queued as jobs of their own', () => {
    expect([...split.keys()].sort()).toEqual(['j', 'j.0', 'j.1'])
    expect(second).toEqual({
      id: 'j.1',
      kind: 'unit',
      spec: { from: 5 },
      table: 'table',
      status: 'Queued',
      owner: null,
      epoch: 0,
      of: 'j',
    })
    expect(split.get('j')!.units).toEqual([null, null])
  })

  test('keeps the ends of its units', () => {
    expect(oneDone.get('j')!.units).toEqual([{ result: { rows: 5 } }, null])
    expect(oneDone.has('j.0')).toBe(false)
    const failed = afterOps(oneDone, claimedOp(second, 'us'), endedOp(second.id, 'Failed', 'no space'))
    expect(failed.get('j')!.units).toEqual([{ result: { rows: 5 } }, { failed: 'no space' }])
  })

  test('keeps them when it is queued again, and cannot be split twice', () => {
    const again = afterOps(oneDone, queuedAgainOp(running))
    expect(again.get('j')!.units).toEqual([{ result: { rows: 5 } }, null])
    const claimed = afterOps(again, claimedOp(again.get('j')!, 'them'))
    expect(() => afterOps(claimed, splitOp(running, 'unit', [1]))).toThrow('job j cannot be split')
  })

  test('ends with the units that are open', () => {
    for (const state of ['Succeeded', 'Canceled'] as const) {
      expect([...afterOps(oneDone, endedOp('j', state)).keys()]).toEqual([])
    }
  })

  test('was queued in the slot that is in the ids of its units', () => {
    const id = '2s-00000000-0000-0000-0000-000000000000'
    expect([slotOfJob(id), slotOfJob(`${id}.12`)]).toEqual([100, 100])
  })
})
