/** Logs in stores that can replace blobs: a trimmed slot is an empty blob, so its number cannot be written again. */
import { describe, expect, test } from 'vitest'
import { BlobLog } from '../../src/commit/blob-log.js'
import { Committer } from '../../src/commit/committer.js'
import { TailedLog } from '../../src/commit/tailed-log.js'
import { systemClock } from '../../src/primitives/clock.js'
import { commitLogSuite } from '../suites/commit-log.js'
import { BucketStore } from '../support/bucket-store.js'
import { add, tally } from './tally.js'

const logOf = (store: BucketStore) => new TailedLog(store, { clock: systemClock, readOnly: false })
const bytes = (text: string) => new TextEncoder().encode(text)

commitLogSuite('BlobLog in a bucket', async () => new BlobLog(new BucketStore()))
commitLogSuite('TailedLog in a bucket', async () => logOf(new BucketStore()))

async function logWith(slots: number) {
  const store = new BucketStore()
  const log = logOf(store)
  for (let slot = 0; slot < slots; slot++) await log.append(slot, bytes(`slot ${slot}`))
  store.reset()
  return { store, log }
}

describe('a trimmed slot', () => {
  test('is not found, and its number is taken', async () => {
    const { log } = await logWith(12)
    expect(log.trimmedTo).toBe(0)
    expect(await log.trim(9)).toBe(9)
    expect(await log.read(10)).toEqual(bytes('slot 10'))
    expect(log.trimmedTo).toBe(0)
    for (let slot = 1; slot <= 9; slot++) {
      expect(await log.read(slot)).toBeNull()
      expect(await log.has(slot)).toBe(false)
      expect(await log.append(slot, bytes('late'))).toBe('taken')
    }
    expect(log.trimmedTo).toBe(9)
    expect(await log.read(0)).toEqual(bytes('slot 0'))
    expect(await log.last()).toBe(11)
  })

  test('is not trimmed again, and a later trim costs what it trims', async () => {
    const { store, log } = await logWith(2000)
    await log.trim(1900)
    store.reset()
    expect(await log.trim(1904)).toBeLessThanOrEqual(12)
    expect(store.calls.get('replace')).toBeLessThanOrEqual(12)
    expect(store.calls.get('stat')).toBeLessThanOrEqual(11)
    expect(store.calls.get('list')).toBe(1)
  })

  test('that a dead process has left out is trimmed by the next', async () => {
    const { store, log } = await logWith(40)
    for (const slot of [1, 2, 3, 4, 5, 7, 9])
      await store.replace(`_log/${String(slot).padStart(20, '0')}`, bytes(''))
    await log.trim(20)
    for (let slot = 1; slot <= 20; slot++) expect(await log.read(slot), `${slot}`).toBeNull()
    expect(await log.read(21)).not.toBeNull()
  })
})

describe('a committer', () => {
  const options = { clock: systemClock, create: true, readOnly: false }

  test('needs one request for a commit, and one to know that nothing is new', async () => {
    const store = new BucketStore()
    const committer = await Committer.open(logOf(store), tally, options)
    for (let i = 0; i < 3; i++) {
      store.reset()
      await committer.commit(add(1, `note ${i}`))
      expect(store.calls).toEqual(new Map([['putIfAbsent', 1]]))
      store.reset()
      await committer.refresh()
      expect(store.calls).toEqual(new Map([['get', 1]]))
    }
  })

  test('that missed a trim does not take the missing slots for the end of the log', async () => {
    const store = new BucketStore()
    const late = await Committer.open(logOf(store), tally, options)
    const log = logOf(store)
    const other = await Committer.open(log, tally, options)
    for (let i = 0; i < 5; i++) await other.commit(add(1, `note ${i}`))
    await log.trim(4)
    const missing = { code: 18, message: expect.stringContaining('slot 0 no longer exists') }
    // There is no checkpoint here, so the process cannot go on.
    await expect(late.refresh()).rejects.toMatchObject(missing)
    await expect(late.commit(add(1, 'lost'))).rejects.toMatchObject(missing)
    expect((await store.get('_log/00000000000000000001'))!.length).toBe(0)
  })
})
