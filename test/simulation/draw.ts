/** Draws a world from a seed: who lives in it, what they want, what befalls them. */

import type { MaintenanceSettings } from '../../src/index.js'
import { randomFrom } from '../support/clock.js'
import type { Path } from './calls.js'
import type { Fate, NetworkFaults } from './process.js'

/** One thing a caller wants; `pick` chooses among what it then finds. */
export interface Action {
  readonly kind: ActionKind
  readonly pauseMs: number
  readonly pick: number
  /** Sent with an idempotency key, and sent again with it while the outcome is unknown. */
  readonly keyed: boolean
  /** Given up after so many milliseconds; 0: never. */
  readonly abortMs: number
}

export const actionKinds = [
  'transfer',
  'audit',
  'look',
  'query',
  'createNamespace',
  'dropNamespace',
  'createTable',
  'insert',
  'delete',
  'update',
  'upsert',
  'transaction',
  'dropTable',
  'declare',
  'rename',
  'move',
  'restore',
  'tag',
  'point',
  'lance',
  'expire',
  'batch',
  'note',
] as const
/** `maintenance` is done in worlds in which there is some, indexes are built in a few, and so do Lance engines write `beside` the catalog. */
export type ActionKind = (typeof actionKinds)[number] | 'maintenance' | 'index' | 'beside'

/** What needs rows to be anything but refused. */
const rowKinds: readonly ActionKind[] = ['insert', 'delete', 'update', 'upsert', 'transaction', 'query']

export interface ProcessPlan {
  readonly peeks: boolean
  readonly skewMs: number
  readonly jumps: readonly ClockJump[]
  /** How often a look at its clock shows that time has passed meanwhile. */
  readonly slowness: number
  /** One per life; the last one survives. */
  readonly fates: readonly Fate[]
  readonly callers: readonly (readonly Action[])[]
}

/** From `atMs` on the clock of a process shows so much more than before. */
export interface ClockJump {
  readonly atMs: number
  readonly byMs: number
}

export interface Plan {
  readonly seed: number
  readonly faults: NetworkFaults
  /** 0: nobody cares for money. */
  readonly accounts: number
  /** Whether the tables that are fought over are there from the start. */
  readonly hasTables: boolean
  /** Characters of metadata that each new version carries: much of it makes checkpoints due. */
  readonly padding: number
  /** How long old things stay; null: longer than a world lives. */
  readonly ages: Required<Pick<MaintenanceSettings, 'keepVersionsMs' | 'keepOrphansMs' | 'keepLogMs'>> | null
  readonly processes: readonly ProcessPlan[]
  /** Whether each process opens the root for one call, and closes it. */
  readonly areBrief: boolean
  /** Indexes are built. */
  readonly hasIndexes: boolean
  /** The power fails at these calls to the disk, counted from when the world is founded: names that nobody has synced are lost. */
  readonly powerFailsAt: readonly number[]
  /** Whether blobs can be filled in place by processes that can peek. */
  readonly hasTails: boolean
  /** Whether the disk is a bucket: names of trimmed slots stay, processes cannot peek, and puts to the log may be very late. */
  readonly isBucket: boolean
}

/** Names that are fought over. */
export const namespaces: readonly Path[] = [['a'], ['a', 'c']]
export const tables: readonly Path[] = [['t'], ['a', 't'], ['t'], ['a', 'u']]
/** Of all that there are. */
export const tableNames: readonly Path[] = [['t'], ['a', 't'], ['a', 'u']]
export const tags = ['x', 'y'] as const

const dayMs = 24 * 60 * 60 * 1000

/** `tidy`: a world in which old things go. */
export function drawPlan(seed: number, tidy = false): Plan {
  // Not the numbers that the world itself will draw.
  const random = randomFrom(seed ^ 0x5eaf)
  const of = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const upTo = (n: number) => 1 + Math.floor(random() * n)
  const chance = (odds: number) => random() < odds
  const small = chance(0.85)
  const calm = chance(0.25)
  const odds = () => (calm ? 0 : of([0, 0, 0, 0.05, 0.3]))
  const faults: NetworkFaults = {
    refused: calm ? 0 : of([0, 0, 0.03]),
    lostRequest: odds(),
    late: odds(),
    lostReply: odds(),
    twice: odds(),
    slow: odds(),
    travels: of([0.1, 0.5, 1]),
  }
  // Each world cares for some kinds of actions, so that they meet.
  const kinds: ActionKind[] = Array.from({ length: upTo(3) }, () => of(actionKinds))
  if (chance(0.4)) kinds.push('transfer', 'transfer')
  if (chance(0.3)) kinds.push('createTable', 'createNamespace')
  const ages = tidy
    ? {
        keepVersionsMs: of([0, 1000, 600_000]),
        keepOrphansMs: of([0, 0, 1000, 600_000]),
        keepLogMs: of([0, 0, 1000]),
      }
    : null
  if (ages !== null) kinds.push('maintenance', ...kinds, 'maintenance')
  // Of their own numbers: the other worlds are what they would be without these.
  const extras = randomFrom(seed ^ 0xe17a)
  const areBrief = extras() < 0.12
  const hasIndexes = extras() < 0.08
  const powerFailsAt = extras() < 0.15 ? [1 + Math.floor(extras() * 60), 1 + Math.floor(extras() * 400)] : []
  if (extras() < 0.12) kinds.push('lance', 'lance', 'beside', 'beside', 'declare')
  if (hasIndexes) kinds.push('index', 'index', 'insert', 'update')
  const action = (): Action => ({
    kind: of(kinds),
    pauseMs: of([0, 0, 0, 5, 50, 2000, 700_000]),
    pick: Math.floor(random() * 2 ** 30),
    keyed: chance(0.3),
    abortMs: chance(0.05) ? upTo(50) : 0,
  })
  const fate = (dies: boolean): Fate => ({
    diesAt: dies ? upTo(of([10, 100])) : 0,
    lastLands: chance(0.5),
    suspendedAt: chance(0.1) ? upTo(of([10, 100])) : 0,
    suspendedMs: of([100, 10_000, 100_000]),
  })
  // Of their own numbers: the worlds are otherwise those they would be with right clocks.
  const clocks = randomFrom(seed ^ 0xc10c)
  const drawJumps = (): readonly ClockJump[] => {
    if (!tidy || clocks() < 0.5) return []
    return Array.from({ length: 1 + Math.floor(2 * clocks()) }, () => ({
      atMs: Math.floor(clocks() * 3) * 700_000,
      byMs: Math.round((clocks() - 0.4) * 5) * dayMs,
    }))
  }
  const processes = Array.from({ length: small ? of([1, 2, 2, 2]) : of([2, 3, 4]) }, (): ProcessPlan => {
    const deaths = calm ? 0 : of([0, 0, 1, 1, 2])
    return {
      peeks: chance(0.7),
      skewMs: of([0, 0, 0, -5000, 5000]),
      jumps: drawJumps(),
      slowness: of([0, 0, 0, 0.05]),
      fates: Array.from({ length: deaths + 1 }, (_, life) => fate(life < deaths)),
      callers: Array.from({ length: small ? of([1, 1, 2]) : upTo(3) }, () =>
        Array.from({ length: small ? upTo(2) : upTo(5) }, action),
      ),
    }
  })
  const hasTables = kinds.some(kind => rowKinds.includes(kind)) && chance(0.8)
  const accounts = kinds.includes('transfer') || kinds.includes('audit') ? upTo(3) : 0
  const hasTails = extras() < 0.5
  // A bucket loses no names.
  const isBucket = powerFailsAt.length === 0 && randomFrom(seed ^ 0xb0c4)() < 0.25
  const extra = { areBrief, hasIndexes, powerFailsAt, hasTails, isBucket }
  return { seed, faults, accounts, hasTables, padding: chance(0.005) ? 60_000 : 0, ages, processes, ...extra }
}
