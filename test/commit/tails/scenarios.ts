/** The scenarios of the model: the right rules in several situations, other choices, and planted mistakes. */
import {
  type CopyRules,
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
const readOnly: ProcessPlan = { transactions: [], hasTails: false, readOnly: true }
const progress: Difference = { checksProgress: true }
const sealerSyncs: Difference = {
  sealer: ['look for end', 'seal', 'read mark', 'read', 'sync tail', 'put end', 'sync folder'],
  endCopies: 'none',
}
const threeWriters = [
  { transactions: [1], hasTails: true },
  { transactions: [2], hasTails: true },
  { transactions: [3], hasTails: false },
]
const trimming: Difference = {
  ...calm,
  trims: ['slot', 'tail', 'seal', 'end'],
  processes: plans([1], [2, 3]),
  lastTail: 1,
  trimsBefore: 3,
}
const trimmingThree: Difference = {
  ...trimming,
  trimsBefore: 4,
  processes: plans([1], [2, 3, 4], []),
}

function copying(copy: Partial<CopyRules> = {}, more: Difference = {}): Difference {
  return {
    ...calm,
    processes: plans([1, 2], [3]),
    lastTail: 1,
    slots: 4,
    copy: { ...rightCopy, ...copy },
    ...more,
  }
}

const copyingTrimmed: Difference = { trims: trimming.trims!, trimsBefore: 3, processes: plans([1], [2]) }

function scenario(name: string, finds: string | null, isShort: boolean, difference: Difference): Scenario {
  return { name, finds, isShort, rules: { ...rightRules, ...difference } }
}
const holds = (name: string, difference: Difference, isShort = false) =>
  scenario(name, null, isShort, difference)
const fails = (name: string, finds: string, difference: Difference, isShort = true) =>
  scenario(name, finds, isShort, difference)

/** The right rules. */
const right: readonly Scenario[] = [
  holds('two writers', { ...progress, ...calm }, true),
  holds('two writers, a crash, a power loss', progress),
  holds('two writers, a crash, two power losses', { powerLosses: 2, processes: plans([1], [2]) }),
  holds('two writers, two crashes, a power loss', { crashes: 2, processes: plans([1, 2], [3]), lastTail: 1 }),
  holds('two writers, two crashes, two power losses', {
    crashes: 2,
    powerLosses: 2,
    processes: plans([1], [2]),
  }),
  holds('two writers with two transactions each, a crash', {
    powerLosses: 0,
    processes: [
      { transactions: [1, 2], hasTails: true },
      { transactions: [3, 4], hasTails: true },
    ],
  }),
  holds('two writers and a reader, a power loss', {
    crashes: 0,
    processes: plans([1], [2], []),
    lastTail: 1,
  }),
  holds('a process that may not write, a power loss', {
    crashes: 0,
    processes: [...plans([1], [2]), readOnly],
  }),
  holds('a process that may not write, two power losses', {
    crashes: 0,
    powerLosses: 2,
    processes: [...plans([1, 2]), readOnly],
  }),
  holds('four transactions, three records in a tail, a crash, a power loss', {
    recordsPerTail: 3,
    processes: plans([1, 2, 3], [4]),
    lastTail: 1,
  }),
  holds('two writers, a crash, two power losses, a failing sync', {
    powerLosses: 2,
    syncFailures: 1,
    processes: plans([1], [2]),
    lastTail: 1,
  }),
  holds('three writers', { crashes: 0, powerLosses: 0, processes: threeWriters }),
  holds('the owner creates its tail', { ...progress, startsWithTail: false, processes: plans([1, 2], [3]) }),
  holds('a failing sync', { ...progress, syncFailures: 1, processes: plans([1], [2]) }),
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
  holds('the owner ends its full tail without a seal', {
    ...progress,
    recordsPerTail: 1,
    processes: plans([1, 2], []),
  }),
  holds('the owner ends its full tail while another process seals it', {
    ...progress,
    recordsPerTail: 1,
    processes: plans([1, 2], [3]),
  }),
  holds('trimming, paused owner and sealer', trimming, true),
  holds('trimming, paused owner, sealer and reader', {
    ...progress,
    ...trimming,
    processes: plans([1], [2, 3], []),
  }),
  holds('trimming of three slots, paused owner, sealer and reader', trimmingThree),
  holds('trimming before a checkpoint inside a tail', {
    ...trimming,
    crashes: 1,
    recordsPerTail: 3,
    processes: plans([1, 2, 3], [4]),
  }),
  holds('trimming before a checkpoint inside a tail, a power loss', {
    ...trimming,
    powerLosses: 1,
    processes: plans([1, 2], [3]),
  }),
  holds('trimming, and the owner creates its tail late', { ...trimming, startsWithTail: false }, true),
  holds('trimming, a power loss undoes deletions', { ...trimming, powerLosses: 1 }),
  holds('trimming, the owner creates its tail late, a power loss', {
    ...trimming,
    startsWithTail: false,
    powerLosses: 1,
    processes: plans([1], [2, 3]),
  }),
  holds('trimming, a crash, a power loss', {
    ...trimming,
    crashes: 1,
    powerLosses: 1,
    trimsBefore: 2,
    processes: plans([1], [2]),
  }),
  holds('trimming, a crash', { ...progress, ...trimming, crashes: 1 }),
]

const copies: readonly Scenario[] = [
  holds('a copy, a transaction of each process', copying({}, { processes: plans([1], [2]) }), true),
  holds('a copy', copying()),
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
        lastTail: 3,
        processes: [
          { transactions: [1], hasTails: true },
          { transactions: [2], hasTails: true },
        ],
      },
    ),
  ),
  holds('a copy that reads the mark last', copying({ readsMarkLast: true })),
  holds('a copy of the slots in descending order', copying({ slots: 'descending' }, copyingTrimmed)),
  holds('a copy that reads ends before tails', copying({ kinds: ['end', 'slot', 'tail'] })),
  holds('a copy that reads tails before slots', copying({ kinds: ['tail', 'end', 'slot'] })),
  holds(
    'a copy that looks up files in descending order',
    copying({ listsNames: false, slots: 'descending', kinds: ['slot', 'end', 'tail'] }),
  ),
  fails(
    'a copy that looks up files in ascending order',
    'copy broken',
    copying({ listsNames: false }),
    false,
  ),
  holds('a copy, and a trimmer that deletes what was old when the copy began', copying({}, copyingTrimmed)),
  holds(
    'a copy of a root with one process has a prefix',
    copying({ mayEndInFlight: false }, { processes: plans([1, 2, 3]) }),
  ),
  holds(
    'a copy that has a prefix, because it opens up to the mark',
    copying({ opens: 'mark', mayEndInFlight: false }),
  ),
  fails('a copy may end in records in flight', 'copy changed', copying({ mayEndInFlight: false })),
  fails(
    'a copy may end in records in flight, also if the owner looks for the seal before it writes',
    'copy changed',
    copying({ mayEndInFlight: false }, { owner: ['look for seal', ...ownerSteps] }),
  ),
  fails(
    'a copy opens up to the mark after a power loss',
    'copy lost',
    copying({ opens: 'mark' }, { powerLosses: 1 }),
  ),
  fails(
    'files are deleted while a copy runs',
    'copy broken',
    copying({ trimmerDeletes: 'everything' }, copyingTrimmed),
  ),
  fails(
    'a copy has the log before the checkpoints',
    'copy broken',
    copying({ steps: ['names', 'files', 'checkpoints'] }, copyingTrimmed),
  ),
]

const order = (...owner: OwnerStep[]): Difference => ({ owner })

/** Other rules that hold too. */
const choices: readonly Scenario[] = [
  holds('the sealer syncs the tail instead of copying records', {
    ...sealerSyncs,
    processes: plans([1, 2], [3]),
  }),
  holds('the sealer reads the mark after the records', {
    sealer: ['look for end', 'seal', 'read', 'read mark', 'put end', 'sync folder'],
    processes: plans([1, 2], [3]),
  }),
  holds('the end has copies of all records', { endCopies: 'all', processes: plans([1, 2], [3]) }),
  holds('the owner also looks for the end', {
    ...order('write', 'sync', 'look for seal', 'look for end', 'look at tail', 'mark', 'acknowledge'),
    processes: plans([1, 2], [3]),
  }),
  holds('the owner seals its own full tail', {
    sealsOwnTail: true,
    recordsPerTail: 1,
    processes: plans([1, 2], []),
  }),
  holds('processes that may write compare the boot of the tail', {
    open: 'boot',
    processes: plans([1, 2], [3]),
  }),
  holds('processes that may write compare the boot of the tail, two power losses', {
    open: 'boot',
    crashes: 0,
    powerLosses: 2,
    processes: plans([1, 2], [3]),
  }),
  // The model looks for an end before it looks for a file. A process that does not, needs this rule.
  holds('the end is not durable before the file of the slot after it', {
    crashes: 0,
    processes: plans([1], [2]),
    syncsEndFirst: false,
  }),
  holds('the zero-fill is not synced, but the sync of a record covers it', {
    startsWithTail: false,
    syncsZeroFill: false,
    processes: plans([1, 2], [3]),
  }),
]

/** Rules left out, and rules that earlier drafts of the protocol had. */
const mistakes: readonly Scenario[] = [
  fails(
    'acknowledges before it marks',
    'lost',
    order('write', 'sync', 'look for seal', 'look at tail', 'acknowledge', 'mark'),
  ),
  fails(
    'marks before it looks',
    'changed',
    order('write', 'sync', 'mark', 'look for seal', 'look at tail', 'acknowledge'),
    false,
  ),
  fails('an opener uses all valid records', 'stale', { open: 'all', crashes: 0, powerLosses: 2 }, false),
  fails('an opener uses all valid records, one process alone', 'lost', {
    open: 'all',
    processes: plans([1]),
  }),
  fails('an opener uses records up to the mark only', 'lost', { open: 'mark' }),
  fails(
    'an opener that may not write uses all valid records',
    'stale',
    {
      openReadOnly: 'all',
      processes: [...plans([1]), readOnly],
    },
    false,
  ),
  fails('an opener that may not write uses records up to the mark only', 'lost', {
    openReadOnly: 'mark',
    crashes: 0,
    processes: [...plans([1]), readOnly],
  }),
  fails('an opener syncs the tail, and uses all valid records', 'lost', { open: 'sync' }),
  fails('an opener syncs the tail and looks like an owner', 'lost', { open: 'sync and look' }),
  fails('a sealer syncs the tail before it reads it', 'corrupt', {
    ...sealerSyncs,
    sealer: ['look for end', 'seal', 'sync tail', 'read mark', 'read', 'put end', 'sync folder'],
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
  fails('trimming, and the owner does not look at its tail', 'changed', {
    ...trimming,
    owner: ownerSteps.filter(step => step !== 'look at tail'),
  }),
  fails('trimming, and the owner looks at its tail before it looks for the seal', 'changed', {
    ...trimming,
    owner: ['write', 'sync', 'look at tail', 'look for seal', 'mark', 'acknowledge'],
  }),
  fails('the trimmer deletes the seal before the tail', 'changed', {
    ...trimming,
    trims: ['slot', 'seal', 'tail', 'end'],
  }),
  fails('the trimmer deletes slot N+1 before the tail of N', 'lost', {
    ...trimmingThree,
    trimsInOrder: false,
  }),
  fails('the trimmer deletes a tail that has newer slots', 'corrupt', {
    ...trimming,
    keepsTails: false,
    processes: plans([1, 2], [3]),
  }),
  fails('trimming, and the owner does not look for slot B after it has created the tail of B', 'changed', {
    ...trimming,
    startsWithTail: false,
    looksForBase: false,
  }),
  fails('a tail whose deletion a power loss undid has no end', 'corrupt', {
    ...trimming,
    powerLosses: 1,
    usesFileAfter: false,
    trimsBefore: 2,
    processes: plans([1], [2]),
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
  fails('slots are applied before their folder is synced', 'stale', { syncsBeforeApply: false }),
  fails(
    'slots are applied before their folder is synced, judged by acknowledgements',
    'lost',
    {
      syncsBeforeApply: false,
      judgesOnlyAcknowledged: true,
    },
    false,
  ),
  fails(
    'acknowledges before it looks',
    'changed',
    order('write', 'sync', 'mark', 'acknowledge', 'look for seal', 'look at tail'),
  ),
  fails(
    'looks before it writes',
    'changed',
    order('look for seal', 'look at tail', 'write', 'sync', 'mark', 'acknowledge'),
  ),
  fails(
    'looks before it syncs',
    'lost',
    order('write', 'look for seal', 'look at tail', 'sync', 'mark', 'acknowledge'),
  ),
  fails(
    'marks before it syncs',
    'stale',
    order('write', 'look for seal', 'look at tail', 'mark', 'sync', 'acknowledge'),
  ),
  fails(
    'acknowledges without a sync',
    'lost',
    order('write', 'look for seal', 'look at tail', 'mark', 'acknowledge'),
  ),
  fails(
    'the owner looks for the end only',
    'changed',
    order('write', 'sync', 'look for end', 'mark', 'acknowledge'),
  ),
  fails('a sealer reads before it seals', 'changed', {
    sealer: ['look for end', 'read mark', 'read', 'seal', 'put end', 'sync folder'],
  }),
  fails('a sealer creates no seal', 'changed', {
    sealer: ['look for end', 'read mark', 'read', 'put end', 'sync folder'],
  }),
  fails('a sealer neither syncs nor copies the records', 'corrupt', { endCopies: 'none' }),
  fails('records after the end are slots', 'fork', { ignoresDeadRecords: false }),
  fails('a paused owner writes through an old handle', 'lost', { opensNewHandle: false }, false),
  fails('no process finishes the seal of another process', 'stuck', { ...progress, finishesSeals: false }),
  fails('a process crashes between the seal and the end', 'stuck', {
    ...progress,
    finishesSeals: false,
    powerLosses: 0,
  }),
  fails('a sealer does not look for its transactions in the tail', 'twice', {
    decidesAgain: false,
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
  fails('the owner appends while it ends its tail', 'lost', {
    stopsBeforeEnd: false,
    processes: plans([1, 2, 3]),
  }),
]

export const scenarios: readonly Scenario[] = [...right, ...copies, ...choices, ...mistakes]
