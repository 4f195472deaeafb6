/** What the model explores: the right rules in several situations, other choices, and planted mistakes. */
import {
  type CopyRules,
  type Deletion,
  type OwnerStep,
  type ProcessPlan,
  type Rules,
  rightCopy,
  rightRules,
} from './rules.js'

/** A difference from the right rules, and what the search must find. */
interface Scenario {
  readonly name: string
  /** The kind of the violation; null if there must be none. */
  readonly finds: string | null
  readonly rules: Rules
  /** Whether the search is short enough for every run of the tests. */
  readonly isShort: boolean
}

type Difference = Partial<Rules>

/** A process whose slots declare tails, and further processes whose slots do not. */
function plans(owner: readonly number[], ...others: readonly (readonly number[])[]): ProcessPlan[] {
  return [
    { transactions: owner, hasTails: true },
    ...others.map(transactions => ({ transactions, hasTails: false })),
  ]
}

const calm: Difference = { crashes: 0, powerLosses: 0 }
const { owner: ownerSteps } = rightRules

const deletions: readonly Deletion[] = [
  ['slot', 1],
  ['tail', 1],
  ['seal', 1],
  ['slot', 2],
  ['tail', 2],
  ['seal', 2],
]
const trimming: Difference = {
  ...calm,
  trims: deletions,
  processes: plans([1], [2, 3]),
  lastTail: 1,
}
const trimmingThree: Difference = {
  ...trimming,
  trims: [...deletions, ['slot', 3]],
  trimsAfter: 4,
  processes: plans([1], [2, 3, 4], []),
}

function copying(copy: Partial<CopyRules> = {}, more: Difference = {}): Difference {
  return {
    ...calm,
    processes: plans([1, 2], [3]),
    lastTail: 1,
    slots: 3,
    copy: { ...rightCopy, ...copy },
    ...more,
  }
}

const copyingTrimmed: Difference = {
  trims: deletions.slice(0, 3),
  trimsAfter: 2,
  processes: plans([1], [2]),
}

function scenario(name: string, finds: string | null, isShort: boolean, difference: Difference): Scenario {
  return { name, finds, isShort, rules: { ...rightRules, ...difference } }
}
const holds = (name: string, difference: Difference, isShort = false) =>
  scenario(name, null, isShort, difference)
const fails = (name: string, finds: string, difference: Difference, isShort = true) =>
  scenario(name, finds, isShort, difference)

const progress: Difference = { checksProgress: true }
const sealerSyncs: Difference = {
  sealer: ['seal', 'read', 'read mark', 'sync tail', 'put', 'sync folder'],
  carriesRecords: 'none',
}
const threeWriters = [
  { transactions: [1], hasTails: true },
  { transactions: [2], hasTails: true },
  { transactions: [3], hasTails: false },
]

/** The right rules. */
const right: readonly Scenario[] = [
  holds('two writers', { ...progress, ...calm }, true),
  holds('two writers, a crash, a power loss', progress),
  holds('two writers, a crash, two power losses', { ...progress, powerLosses: 2 }),
  holds('two writers, two crashes, a power loss', { ...progress, crashes: 2 }),
  holds('two writers, two crashes, two power losses', { crashes: 2, powerLosses: 2 }),
  holds('two writers with two transactions each, a crash, a power loss', {
    processes: [
      { transactions: [1, 2], hasTails: true },
      { transactions: [3, 4], hasTails: true },
    ],
  }),
  holds('two writers and a reader, three transactions, a crash, a power loss', {
    processes: plans([1, 2], [3], []),
  }),
  holds('four transactions, three records in a tail, batches, a crash, a power loss', {
    recordsPerTail: 3,
    writesBatches: true,
    processes: plans([1, 2, 3], [4]),
  }),
  holds('two writers, two crashes, two power losses, a failing sync', {
    crashes: 2,
    powerLosses: 2,
    syncFailures: 1,
    processes: plans([1], [2]),
  }),
  holds('two writers and a reader, a power loss', {
    ...progress,
    crashes: 0,
    processes: plans([1, 2], [3], []),
  }),
  holds('two writers and a reader, a crash, a power loss', { processes: plans([1], [3], []) }),
  holds('three writers, a power loss', { ...progress, crashes: 0, processes: threeWriters }),
  holds('four transactions, a crash, a power loss', {
    processes: plans([1, 2, 3], [4]),
    lastTail: 1,
    slots: 4,
  }),
  holds('the owner creates its tail', { ...progress, startsWithTail: false }),
  holds('a failing sync', { ...progress, syncFailures: 1 }),
  holds('two records in one sync', { ...progress, writesBatches: true }),
  holds('a client asks both processes for the same transactions', {
    ...progress,
    processes: [
      { transactions: [1, 2], hasTails: true },
      { transactions: [1, 2], hasTails: true },
    ],
  }),
  holds('a process of an old version', {
    ...progress,
    processes: [
      { transactions: [1, 2], hasTails: true },
      { transactions: [3], hasTails: false, version: 'old' },
    ],
  }),
  holds('the owner ends its full tail without a seal', { ...progress, processes: plans([1, 2, 3], []) }),
  holds('the owner ends its full tail while another process seals it', {
    ...progress,
    processes: [
      { transactions: [1, 2, 3], hasTails: true },
      { transactions: [3], hasTails: true },
    ],
  }),
  holds('the owner ends its full tail, and a reader follows', {
    ...progress,
    crashes: 0,
    processes: plans([1, 2, 3], [], []),
  }),
  holds('trimming, paused owner and sealer', trimming, true),
  holds('trimming, paused owner, sealer and reader', {
    ...progress,
    ...trimming,
    processes: plans([1], [2, 3], []),
  }),
  holds('trimming of three slots, paused owner, sealer and reader', { ...trimmingThree, slots: 5 }),
  holds('trimming, a crash, a power loss', {
    ...trimming,
    crashes: 1,
    powerLosses: 1,
    processes: plans([1], [2]),
  }),
  holds('trimming, a crash', { ...progress, ...trimming, crashes: 1 }),
]

/** Positions that name a slot only: pins and checkpoints. */
const pinning = (processes: readonly ProcessPlan[], more: Difference = {}): Difference => ({
  processes,
  slots: 5,
  ...more,
})
const ownerPins: readonly ProcessPlan[] = [
  { transactions: [1, 2], hasTails: true, takes: 'pin' },
  { transactions: [3], hasTails: true },
]
const readerPins: readonly ProcessPlan[] = [
  { transactions: [1, 2], hasTails: true },
  { transactions: [], hasTails: false, takes: 'pin' },
]
const ownerChecks: readonly ProcessPlan[] = [
  { transactions: [1, 2], hasTails: true, takes: 'checkpoint' },
  { transactions: [3], hasTails: true },
]
const readerChecks: readonly ProcessPlan[] = [
  { transactions: [1, 2], hasTails: true },
  { transactions: [], hasTails: false, takes: 'checkpoint' },
]
const positions: readonly Scenario[] = [
  holds('the owner takes a pin', pinning(ownerPins, { powerLosses: 0 })),
  holds('a reader takes a pin', pinning(readerPins, { powerLosses: 0 }), true),
  holds('the owner writes a checkpoint', pinning(ownerChecks, { powerLosses: 0 })),
  holds('a reader writes a checkpoint', pinning(readerChecks)),
  holds(
    'a reader takes a pin of a closed slot, and ends no tail',
    pinning(readerPins, { positionSlot: 'closed' }),
  ),
  holds(
    'the owner takes a pin of a closed slot',
    pinning(ownerPins, { positionSlot: 'closed', powerLosses: 0 }),
  ),
  holds('a reader writes a checkpoint of a closed slot', pinning(readerChecks, { positionSlot: 'closed' })),
  holds('the owner writes a checkpoint of a closed slot', pinning(ownerChecks, { positionSlot: 'closed' })),
  fails('a pin does not end the tail', 'position', pinning(readerPins, { endsTailForPosition: false })),
  fails(
    'the slot that ends a tail for a pin has a tail itself',
    'position',
    pinning(ownerPins, { positionSlotHasNoTail: false }),
  ),
  fails(
    'a checkpoint does not end the tail',
    'position',
    pinning(readerChecks, { endsTailForPosition: false }),
  ),
  fails(
    'the slot that ends a tail for a checkpoint has a tail itself',
    'position',
    pinning(ownerChecks, { positionSlotHasNoTail: false }),
  ),
]

const copies: readonly Scenario[] = [
  holds('a copy, a transaction of each process', copying({}, { processes: plans([1], [2]) }), true),
  holds('a copy', copying()),
  holds(
    'a copy, two tails with two transactions each',
    copying(
      {},
      {
        lastTail: 2,
        slots: 4,
        processes: [
          { transactions: [1, 2], hasTails: true },
          { transactions: [3, 4], hasTails: true },
        ],
      },
    ),
  ),
  holds(
    'a copy, a crash, a power loss before it',
    copying({}, { crashes: 1, powerLosses: 1, processes: plans([1], [2]) }),
  ),
  holds('a copy while the owner creates its tail', copying({}, { startsWithTail: false })),
  holds('a copy, a power loss before it', copying({}, { powerLosses: 1 })),
  holds('a copy, a crash', copying({}, { crashes: 1 })),
  holds(
    'a copy, two tails',
    copying(
      {},
      {
        lastTail: 2,
        processes: [
          { transactions: [1], hasTails: true },
          { transactions: [2], hasTails: true },
        ],
      },
    ),
  ),
  holds('a copy, two records in one sync', copying({}, { writesBatches: true })),
  holds('a copy that reads the mark last', copying({ readsMarkLast: true })),
  holds('a copy of the slots in descending order', copying({ slots: 'descending' }, copyingTrimmed)),
  holds(
    'a copy that looks up slots in descending order',
    copying({ folders: ['checkpoints', 'slots', 'tails'], slots: 'descending' }),
  ),
  fails(
    'a copy that looks up slots in ascending order',
    'copy broken',
    copying({ folders: ['checkpoints', 'slots', 'tails'] }),
  ),
  holds(
    'a copy that lists the log, and reads tails before slots',
    copying({ folders: ['checkpoints', 'names', 'tails', 'slots'] }),
  ),
  holds('a copy, and a trimmer that deletes what was old when the copy began', copying({}, copyingTrimmed)),
  holds('a copy, and a trimmer that waits', copying({ trimmerDeletes: 'nothing' }, copyingTrimmed)),
  holds(
    'a copy of a root with one process has a prefix',
    copying({ mayEndInFlight: false }, { crashes: 1, processes: plans([1, 2, 3]) }),
  ),
  holds(
    'a copy that has a prefix, because it opens up to the mark',
    copying({ opens: 'mark', mayEndInFlight: false }),
  ),
  fails('a copy may end in records in flight', 'copy changed', copying({ mayEndInFlight: false })),
  fails(
    'a copy opens up to the mark after a power loss',
    'copy lost',
    copying({ opens: 'mark' }, { powerLosses: 1 }),
  ),
  fails(
    'a copy opens up to the mark if it is sealed, after a power loss',
    'copy lost',
    copying({ opens: 'mark if sealed' }, { powerLosses: 1 }),
  ),
  holds(
    'a copy opens up to the mark if it is sealed',
    copying({ opens: 'mark if sealed', mayEndInFlight: false }),
  ),
  holds(
    'a copy has the tails before the log, and slots have all counted records',
    copying({ folders: ['checkpoints', 'tails', 'names', 'slots'] }, { carriesRecords: 'all' }),
  ),
  holds(
    'a copy has the tails before the log, and slots have all counted records, a power loss before it',
    copying(
      { folders: ['checkpoints', 'tails', 'names', 'slots'] },
      { carriesRecords: 'all', powerLosses: 1 },
    ),
  ),
  fails(
    'a copy may end in records in flight, also if the owner looks for the seal before it writes',
    'copy changed',
    copying({ mayEndInFlight: false }, { owner: ['look for seal', ...ownerSteps] }),
  ),
  fails(
    'a copy has the tails before the log',
    'copy broken',
    copying({ folders: ['checkpoints', 'tails', 'names', 'slots'] }),
  ),
  fails(
    'a tail is deleted while a copy runs',
    'copy lost',
    copying(
      { trimmerDeletes: 'tails' },
      {
        ...copyingTrimmed,
        trims: [
          ['tail', 1],
          ['slot', 1],
        ],
      },
    ),
    false,
  ),
  fails(
    'slots are deleted while a copy runs',
    'copy broken',
    copying({ trimmerDeletes: 'everything' }, copyingTrimmed),
  ),
  fails(
    'a copy has the log before the checkpoints',
    'copy broken',
    copying({ folders: ['names', 'slots', 'tails', 'checkpoints'] }, copyingTrimmed),
  ),
  holds(
    'a copy has the log before the checkpoints, and newer checkpoints are skipped',
    copying(
      { folders: ['names', 'slots', 'tails', 'checkpoints'], skipsNewerCheckpoints: true },
      copyingTrimmed,
    ),
  ),
]

/** Other rules that hold too. */
const choices: readonly Scenario[] = [
  holds('the sealer syncs the tail instead of copying records', { ...progress, ...sealerSyncs }),
  holds('the sealer reads the mark before the records', {
    ...progress,
    sealer: ['seal', 'read mark', 'read', 'put', 'sync folder'],
  }),
  holds('the sealer deletes its seal after slot N+1 is durable', {
    ...progress,
    sealer: [...rightRules.sealer, 'delete seal'],
  }),
  holds('slot N+1 has copies of all counted records', { ...progress, carriesRecords: 'all' }),
  holds('the owner looks for the seal only', {
    owner: ['write', 'sync', 'look for seal', 'mark', 'acknowledge'],
  }),
  holds('the owner looks before it syncs', {
    owner: ['write', 'look for seal', 'look for slot', 'sync', 'mark', 'acknowledge'],
  }),
  holds('the owner seals its own tail', { ...progress, sealsOwnTail: true, processes: plans([1, 2, 3], []) }),
  holds('openers compare the boot of the tail', { ...progress, open: 'boot' }),
  holds('openers compare the boot of the tail, two power losses', {
    open: 'boot',
    crashes: 0,
    powerLosses: 2,
  }),
  holds('the zero-fill is not synced, but the sync of a record covers it', {
    startsWithTail: false,
    syncsZeroFill: false,
  }),
]

const order = (...owner: OwnerStep[]): Difference => ({ owner })

/** Rules left out, and rules that earlier drafts of the protocol had. */
const mistakes: readonly Scenario[] = [
  fails(
    'acknowledges before it marks',
    'lost',
    order('write', 'sync', 'look for seal', 'look for slot', 'acknowledge', 'mark'),
  ),
  fails(
    'marks before it looks',
    'changed',
    order('write', 'sync', 'mark', 'look for seal', 'look for slot', 'acknowledge'),
  ),
  fails('an opener counts all valid records', 'stale', { open: 'all', crashes: 0, powerLosses: 2 }, false),
  fails('an opener counts all valid records, one process alone', 'lost', {
    open: 'all',
    processes: plans([1]),
  }),
  fails('an opener counts records up to the mark only', 'lost', { open: 'mark' }),
  fails('an opener syncs the tail, and counts all valid records', 'lost', { open: 'sync' }),
  fails('an opener syncs the tail and looks like an owner', 'lost', { open: 'sync and look' }),
  fails('a sealer syncs the tail before it reads it', 'corrupt', {
    ...sealerSyncs,
    sealer: ['seal', 'sync tail', 'read', 'read mark', 'put', 'sync folder'],
  }),
  fails('no slot declares the tail, and an old version writes', 'lost', {
    declaresTails: false,
    stopsOldVersions: false,
    lastTail: 0,
    processes: [
      { transactions: [1, 2], hasTails: false },
      { transactions: [3], hasTails: false, version: 'old' },
    ],
  }),
  fails('no slot declares the tail, and a version looks for its file', 'changed', {
    ...calm,
    declaresTails: false,
    startsWithTail: false,
    lastTail: 0,
    processes: [
      { transactions: [1, 2], hasTails: false },
      { transactions: [3], hasTails: false, version: 'by name' },
    ],
  }),
  fails('an old version does not stop at a tail', 'lost', {
    stopsOldVersions: false,
    processes: [
      { transactions: [1, 2], hasTails: true },
      { transactions: [3], hasTails: false, version: 'old' },
    ],
  }),
  fails('a failed sync, and a sealer that syncs instead of copying records', 'corrupt', {
    ...sealerSyncs,
    syncFailures: 1,
  }),
  fails('trimming, and the owner does not look at the link of its tail', 'changed', {
    ...trimming,
    owner: ownerSteps.filter(step => step !== 'look at link'),
  }),
  fails('trimming, and the owner looks at the link before it looks for the seal', 'changed', {
    ...trimming,
    owner: ['write', 'sync', 'look at link', 'look for seal', 'look for slot', 'mark', 'acknowledge'],
  }),
  fails('the trimmer deletes slot N+1 before the tail of N', 'changed', {
    ...trimming,
    trims: [
      ['slot', 1],
      ['seal', 1],
      ['slot', 2],
      ['tail', 1],
    ],
  }),
  fails('trimming, and a reader does not look back', 'lost', {
    ...trimming,
    looksBack: false,
    processes: plans([], [2, 3]),
  }),
  fails(
    'trimming, and a process looks back at the name only',
    'lost',
    { ...trimmingThree, looksBackAtIdentity: false },
    false,
  ),
  fails('slots are applied before their folder is synced', 'stale', { syncsBeforeApply: 'never' }),
  fails('slots are applied before their folder is synced, judged by acknowledgements', 'lost', {
    syncsBeforeApply: 'never',
    judgesOnlyAcknowledged: true,
  }),
  fails(
    'slots with own transactions only are synced before they are applied, judged by acknowledgements',
    'fork',
    { syncsBeforeApply: 'own', judgesOnlyAcknowledged: true },
    false,
  ),
  fails(
    'acknowledges before it looks',
    'changed',
    order('write', 'sync', 'mark', 'acknowledge', 'look for seal', 'look for slot'),
  ),
  fails(
    'looks before it writes',
    'changed',
    order('look for seal', 'look for slot', 'write', 'sync', 'mark', 'acknowledge'),
  ),
  fails(
    'marks before it syncs',
    'stale',
    order('write', 'look for seal', 'look for slot', 'mark', 'sync', 'acknowledge'),
  ),
  fails(
    'acknowledges without a sync',
    'lost',
    order('write', 'look for seal', 'look for slot', 'mark', 'acknowledge'),
  ),
  fails(
    'the owner looks for slot N+1 only',
    'changed',
    order('write', 'sync', 'look for slot', 'mark', 'acknowledge'),
  ),
  fails('a sealer reads before it seals', 'changed', {
    sealer: ['read', 'read mark', 'seal', 'put', 'sync folder'],
  }),
  fails('a sealer creates no seal', 'changed', { sealer: ['read', 'read mark', 'put', 'sync folder'] }),
  fails('a sealer neither syncs nor copies the records', 'corrupt', { carriesRecords: 'none' }),
  fails('records after the end are applied', 'changed', { ignoresDeadRecords: false }),
  fails('a paused owner writes through an old handle', 'lost', { opensNewHandle: false, lastTail: 3 }, false),
  fails('no process finishes the seal of another process', 'stuck', { ...progress, finishesSeals: false }),
  fails('a process crashes between the seal and the slot', 'stuck', {
    ...progress,
    finishesSeals: false,
    powerLosses: 0,
  }),
  fails('a sealer does not look for its transactions in the tail', 'twice', {
    looksForOwnTransactions: false,
    processes: [
      { transactions: [1, 2], hasTails: true },
      { transactions: [1, 2], hasTails: true },
    ],
  }),
  fails('the name of the tail is not durable before the first record', 'lost', {
    startsWithTail: false,
    syncsTailName: false,
  }),
  fails('the zero-fill is lost', 'lost', {
    startsWithTail: false,
    syncsZeroFill: false,
    recordSyncCoversZeroFill: false,
  }),
  fails('old records of a recycled file are valid', 'invented', {
    startsWithTail: false,
    syncsZeroFill: false,
    recordSyncCoversZeroFill: false,
    seedsRecords: false,
  }),
  fails('a slot gets its name before its content is synced', 'corrupt', { syncsTemporary: false }),
  fails('the owner appends while it ends its tail', 'changed', {
    stopsBeforeEnd: false,
    processes: plans([1, 2, 3]),
  }),
]

export const scenarios: readonly Scenario[] = [...right, ...positions, ...copies, ...choices, ...mistakes]
