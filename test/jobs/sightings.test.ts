import { expect, test } from 'vitest'
import type { OpenJob } from '../../src/jobs/job-op.js'
import { type Lease, newestLeases } from '../../src/jobs/lease.js'
import { Sightings } from '../../src/jobs/sightings.js'

function job(id: string, epoch = 1): OpenJob {
  return { id, kind: 'kind', spec: null, table: null, status: 'Running', owner: 'somebody', epoch }
}

function lease(job: string, epoch: number, counter: number): Lease {
  return { key: `_jobs/${job}-${epoch}-${counter}`, job, epoch, counter }
}

/** Looks at one job every ten seconds; says after how many seconds it was taken for lost. */
function lostAfter(
  leaseAt: (second: number) => Lease | null,
  epochAt = (_second: number) => 1,
): number | null {
  const sightings = new Sightings()
  for (let second = 0; second <= 200; second += 10) {
    const seen = leaseAt(second)
    const lost = sightings.look([job('a', epochAt(second))], newestLeases(seen ? [seen] : []), second * 1000)
    if (lost.length > 0) return second
  }
  return null
}

test('a lease that stands still for a minute has no owner, one that moves has', () => {
  expect(lostAfter(() => lease('a', 1, 7))).toBe(60)
  expect(lostAfter(second => lease('a', 1, Math.floor(second / 50)))).toBeNull()
  expect(lostAfter(second => lease('a', 1, Math.min(3, Math.floor(second / 10))))).toBe(90)
})

test('an owner that never left a lease has a minute, too', () => {
  expect(lostAfter(() => null)).toBe(60)
  expect(lostAfter(second => (second < 50 ? null : lease('a', 1, 0)))).toBe(110)
})

test('a new claim has its own minute, and leases of old ones do not count for it', () => {
  expect(
    lostAfter(
      () => lease('a', 1, 7),
      second => (second < 40 ? 1 : 2),
    ),
  ).toBe(100)
  expect(
    lostAfter(
      second => lease('a', 1, second),
      second => (second < 40 ? 1 : 2),
    ),
  ).toBe(100)
  // The same counter, of another epoch.
  expect(
    lostAfter(
      second => lease('a', second < 40 ? 1 : 2, 0),
      second => (second < 40 ? 1 : 2),
    ),
  ).toBe(100)
})

test('time in which nobody looked counts for ten seconds', () => {
  const sightings = new Sightings()
  const look = (second: number) => sightings.look([job('a')], new Map(), second * 1000).length
  expect([0, 3600, 7200, 7210, 7220, 7230].map(look)).toEqual([0, 0, 0, 0, 0, 0])
  expect(look(7240)).toBe(1)
  // Until somebody does something about it.
  expect(look(7250)).toBe(1)
})

test('jobs are told apart, and those that are over are forgotten', () => {
  const sightings = new Sightings()
  const looks: string[][] = []
  for (let second = 0; second <= 60; second += 10) {
    const running = second === 30 ? [job('a')] : [job('a'), job('b')]
    looks.push(sightings.look(running, newestLeases([lease('c', 1, 1)]), second * 1000).map(({ id }) => id))
  }
  expect(looks).toEqual([[], [], [], [], [], [], ['a']])
})

test('the newest lease is that of the newest epoch, then of the highest counter', () => {
  const leases = [
    lease('a', 2, 9),
    lease('a', 2, 10),
    lease('a', 1, 99),
    lease('b', 1, 5),
    lease('b', 2, 1),
    lease('c', 1, 0),
  ]
  for (const order of [leases, leases.toReversed()]) {
    const newest = newestLeases(order)
    expect(newest.get('a')).toEqual(lease('a', 2, 10))
    expect(newest.get('b')).toEqual(lease('b', 2, 1))
    expect(newest.get('c')).toEqual(lease('c', 1, 0))
  }
})
