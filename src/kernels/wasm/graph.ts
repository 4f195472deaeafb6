/**
 * Inserts rows into a graph and searches in it (AssemblyScript; HNSW). A search is called a walk. The reference
 * implementation is `../graph-plain.ts`, which writes the same bytes. `../graph-shape.ts` describes the lists and
 * twins, and the order of the words of a block.
 *
 * - The upper half of a key has the bits of a distance, an f32 that is never negative. The lower half is the row
 *   number, shifted left by one, plus a bit that is set if the row was expanded. So the order of keys is the order of
 *   (distance, row).
 * - To expand a row means to measure its neighbours, the rows to which its edges lead.
 * - The global variables belong to one call, or to one walk from `graphOpen` to `graphClose`. So an instance runs one
 *   walk at a time.
 *
 * If the module is compiled with threads, instances of several threads can insert into a graph concurrently. Each has
 * its own scratch. A thread that changes a list holds the lock of the list's row. Readers take no lock:
 * - The lists of a row are written before an edge leads to it. Lists that readers can reach never get shorter. So all
 *   edges up to the count in the head are valid before and after every change.
 * - Heads are read and written atomically. A reader that sees a new count also sees the edges that were written before.
 * - Two rows that are inserted at the same time may not find each other. So two rows with equal vectors may become two
 *   nodes.
 * - If an edge led to a twin, walks would treat it as a node of its own. So insertion only marks twins, and `graphJoin`
 *   links them later, when no thread inserts.
 */

class F32 {}
class U8 {}
class Pq {}

const END_OF_COUNT: u32 = 0xffff
const HAS_TWINS: u32 = 0x80000000
const CACHE_LINE: usize = 64
const NO_ROW: u32 = 0xffffffff
/**
 * Head of the lowest list of a twin that `graphJoin` must still link. Its first edge is the row with the same vector.
 */
const TO_JOIN: u32 = 0x40000000
/**
 * Number of locks, which are u32s. The first lock protects the entry. Rows share the other locks. Must equal
 * `locksShared` of `../graph-shape.ts`.
 */
const LOCKS: u32 = 4096
/**
 * Number of times that a thread checks a lock before it waits. A thread that is running releases its lock in less time.
 */
const LOOKS: i32 = 4096
/** Time that a thread waits before it checks a lock again. */
const WAIT_NANOSECONDS: i64 = 50_000
/** The reasons why a walk ended, numbered as in `walkEndings` of `../graph.ts`. */
const SETTLED: u32 = 0
const EMPTIED: u32 = 1
const SPENT: u32 = 2
/** Number of rows that are collected before they are measured. Must equal `gatheredTogether` of `../graph-shape.ts`. */
const GATHERED: usize = 512
/** Number of bytes of a list of rows, ahead of the current row, whose vectors are prefetched. */
const TOUCHED_AHEAD: usize = 64

let kind: i32 = 0
let stride: usize = 0
let m: u32 = 0
let rows: u32 = 0
let vectors: usize = 0
let links: usize = 0
let upperLinks: usize = 0
let upperStarts: usize = 0
let levels: usize = 0
let visited: usize = 0
let allowed: usize = 0
/** Address of a bit per node: whether at least one of the rows with its vector is allowed. */
let allowedNodes: usize = 0
/** Address of the keys of the nearest rows so far, ascending. */
let kept: usize = 0
/**
 * Address of a min-heap with the keys of the rows that a walk has not expanded yet. Unused if the walk expands only
 * kept rows.
 */
let frontier: usize = 0
/** Maximum number of keys in the frontier. */
let frontierMax: i32 = 0
/** Scratch: rows to measure, as u32s. */
let nearby: usize = 0
/** Scratch: keys from which edges are chosen. */
let choices: usize = 0
/** Scratch: rows that were not chosen, as u32s. */
let spare: usize = 0
/** Whether to prefetch vectors and lists. */
let touch: bool = false

let epoch: u32 = 0
let measured: u32 = 0
let entryRow: u32 = 0
let entryLevel: i32 = 0
/** With threads: address of the locks, which all threads share. */
let locks: usize = 0
/** With threads: address of row and level of the entry, which all threads share. */
let entryAt: usize = 0

let ef: u32 = 0
let filtered: bool = false
/** Address after the last kept key. */
let keptEnd: usize = 0
/** Address of a kept key. All kept keys before it are expanded. */
let next: usize = 0
/** The greatest kept key, if `ef` keys are kept. Only smaller keys are added. */
let worst: u64 = 0
/** Number of keys in the frontier. */
let waiting: i32 = 0

/**
 * Factor of the rule that ends a walk, see `isSettled`. 0: the walk ends when all rows that it has not expanded are
 * farther than the kept rows.
 */
let factor: f32 = 0
let more: u32 = 0
let watched: usize = 0
let late: u32 = 0
let least: u32 = 0
let most: u32 = 0
/** The reason why the walk ended. */
let ended: u32 = 0
/** Address of a ring buffer of `late + 1` u32s: the values of `measured` at the last changes of watched rows. */
let changes: usize = 0
/** Index of the oldest change in the ring buffer. */
let oldest: u32 = 0
/** The value of `measured` when the walk began. */
let measuredBefore: u32 = 0

/** The nearest row so far while a walk descends from level to level. */
let nearest: u32 = 0
/** The bits of the distance of `nearest`. */
let nearestBits: u32 = 0

/** Read the parameters from the block. `Word` in `../graph-shape.ts` defines the order of its words. */
function use(block: usize): void {
  kind = load<i32>(block)
  stride = load<u32>(block, 4)
  m = load<u32>(block, 8)
  rows = load<u32>(block, 12)
  vectors = load<u32>(block, 16)
  links = load<u32>(block, 20)
  upperLinks = load<u32>(block, 24)
  upperStarts = load<u32>(block, 28)
  levels = load<u32>(block, 32)
  visited = load<u32>(block, 36)
  allowed = load<u32>(block, 40)
  kept = load<u32>(block, 44)
  frontier = load<u32>(block, 48)
  frontierMax = load<i32>(block, 52)
  nearby = load<u32>(block, 56)
  choices = load<u32>(block, 60)
  spare = load<u32>(block, 64)
  touch = load<u32>(block, 68) != 0
  epoch = load<u32>(block, 72)
  measured = load<u32>(block, 76)
  entryRow = load<u32>(block, 80)
  entryLevel = load<i32>(block, 84)
  if (ASC_FEATURE_THREADS) {
    locks = load<u32>(block, 88)
    entryAt = load<u32>(block, 92)
  }
  allowedNodes = load<u32>(block, 96)
  changes = load<u32>(block, 100)
  factor = load<f32>(block, 104)
  more = load<u32>(block, 108)
  watched = load<u32>(block, 112)
  late = load<u32>(block, 116)
  least = load<u32>(block, 120)
  most = load<u32>(block, 124)
}

function save(block: usize): void {
  store<u32>(block, epoch, 72)
  store<u32>(block, measured, 76)
  if (ASC_FEATURE_THREADS) return
  store<u32>(block, entryRow, 80)
  store<i32>(block, entryLevel, 84)
}

/** Insert the `count` rows whose numbers are u32s at `list`. `width`: number of candidates for the edges of a row. */
export function graphInsert(block: usize, list: usize, count: u32, width: u32): void {
  use(block)
  ef = width
  filtered = false
  for (let at = list; at < list + (<usize>count << 2); at += 4) {
    const row = load<u32>(at)
    const isLocked = ASC_FEATURE_THREADS ? openEntry(row) : false
    if (kind == 0) insertRow<F32>(row)
    else insertRow<U8>(row)
    if (isLocked) closeEntry()
  }
  save(block)
}

/** Link the marked twins among the `count` rows at `list` with their nodes. No thread may insert at the same time. */
export function graphJoin(block: usize, list: usize, count: u32): void {
  use(block)
  for (let at = list; at < list + (<usize>count << 2); at += 4) {
    const row = load<u32>(at)
    const own = listOf(row, 0)
    if (load<u32>(own) != TO_JOIN) continue
    store<u32>(own, 0)
    if (kind == 0) join<F32>(row, load<u32>(own, 4))
    else join<U8>(row, load<u32>(own, 4))
  }
}

/**
 * Read the entry. If `row` will become the new entry, because it is the first row or has a higher level than the entry,
 * lock the entry. Returns whether it is locked.
 */
function openEntry(row: u32): bool {
  readEntry()
  if (!isNextEntry(row)) return false
  lock(locks)
  readEntry()
  if (isNextEntry(row)) return true
  unlock(locks)
  return false
}

function closeEntry(): void {
  atomic.store<u64>(entryAt, <u64>entryRow | (<u64>entryLevel << 32))
  unlock(locks)
}

@inline
function readEntry(): void {
  const entry = atomic.load<u64>(entryAt)
  entryRow = <u32>entry
  entryLevel = <i32>(entry >> 32)
}

@inline
function isNextEntry(row: u32): bool {
  return entryRow == NO_ROW || <i32>load<u8>(levels + row) > entryLevel
}

/**
 * Begin a walk that keeps the `width` nearest rows. `some`: whether it keeps only rows whose bits in `allowedNodes` are
 * set. The block has the rule that ends the walk.
 */
export function graphOpen(block: usize, width: u32, some: bool): void {
  use(block)
  ef = width
  filtered = some
  measured = 0
  waiting = 0
  oldest = 0
  ended = SETTLED
  openLevel()
  save(block)
}

/**
 * Add a row from which the walk starts. First descend from the row to the lowest level. `query`: address of the query.
 * `level`: level of the row.
 */
export function graphEnter(query: usize, row: u32, level: i32): void {
  if (kind == 0) enter<F32>(query, row, level)
  else if (kind == 1) enter<U8>(query, row, level)
  else enter<Pq>(query, row, level)
}

/** Add nodes from which the walk starts, and measure them. `list`: address of their numbers, which are `count` u32s. */
export function graphSeed(query: usize, list: usize, count: u32): void {
  if (kind == 0) seed<F32>(query, list, count)
  else if (kind == 1) seed<U8>(query, list, count)
  else seed<Pq>(query, list, count)
}

/**
 * Do the walk. Write the nearest `k` rows to u32s at `outRows`, and their distances to f32s at `outDistances`. Returns
 * their number.
 */
export function graphClose(block: usize, query: usize, k: u32, outRows: usize, outDistances: usize): u32 {
  if (kind == 0) walk<F32>(query)
  else if (kind == 1) walk<U8>(query)
  else walk<Pq>(query)
  store<u32>(block, measured, 76)
  store<u32>(block, ended, 128)
  return report(k, outRows, outDistances)
}

function insertRow<Kind>(row: u32): void {
  const level = <i32>load<u8>(levels + row)
  for (let l = level; l >= 0; l--) clearList(listOf(row, l), l)
  if (entryRow == NO_ROW) {
    entryRow = row
    entryLevel = level
    return
  }
  const query = vectorOf(row)
  begin<Kind>(query, entryRow)
  descend<Kind>(query, entryLevel, level)
  const top = min(level, entryLevel)
  for (let l = top; l >= 0 && nearestBits != 0; l--) {
    openLevel()
    visit(nearest)
    keep(keyOf(nearestBits, nearest))
    search<Kind>(query, l)
    const key = load<u64>(kept)
    nearest = rowOf(key)
    nearestBits = bitsOf(key)
    if (nearestBits != 0) choose<Kind>(kept, keptEnd, listOf(row, l), 0, m)
  }
  if (nearestBits == 0) {
    for (let l = level; l >= 0; l--) clearList(listOf(row, l), l)
    if (ASC_FEATURE_THREADS) {
      const own = listOf(row, 0)
      store<u32>(own, TO_JOIN)
      store<u32>(own, nearest, 4)
    } else join<Kind>(row, nearest)
    return
  }
  // Walks find a row on a level as soon as an edge leads to it there. Add edges from the lowest level upwards, so that
  // a walk that finds the row can continue on all levels below.
  for (let l = 0; l <= top; l++) {
    let list = listOf(row, l)
    const count = load<u32>(list)
    if (ASC_FEATURE_THREADS) {
      // Use a copy of the list, because other threads may change the list as soon as an edge leads to the row.
      memory.copy(nearby, list, (<usize>count + 1) << 2)
      list = nearby
    }
    if (touch) for (let i: u32 = 1; i <= count; i++) touchLines(listOf(load<u32>(list + (<usize>i << 2)), l), listBytes(l))
    for (let i: u32 = 1; i <= count; i++) {
      const from = load<u32>(list + (<usize>i << 2))
      if (ASC_FEATURE_THREADS) lock(lockOf(from))
      link<Kind>(from, row, l)
      if (ASC_FEATURE_THREADS) unlock(lockOf(from))
    }
  }
  if (level > entryLevel) {
    entryRow = row
    entryLevel = level
  }
}

/** Add the edge from `from` to `row`. If the list is full, choose its edges again. */
function link<Kind>(from: u32, row: u32, level: i32): void {
  const list = listOf(from, level)
  const head = load<u32>(list)
  const count = head & END_OF_COUNT
  const maxEdges = level == 0 ? m << 1 : m
  if (count < maxEdges) {
    store<u32>(list + (<usize>count << 2), row, 4)
    setHead(list, head + 1)
  } else {
    const first = firstEdge(head)
    const end = gather<Kind>(from, list, first, count, choices)
    rise(choices, end, keyOf(between<Kind>(vectorOf(from), vectorOf(row)), row))
    choose<Kind>(choices, end + 8, list, first, maxEdges)
  }
}

/** Append `row` to the rows with the same vector as `first`. */
function join<Kind>(row: u32, first: u32): void {
  const own = listOf(row, 0)
  store<u32>(own, row, 4)
  const list = listOf(first, 0)
  const head = load<u32>(list)
  if (head & HAS_TWINS) {
    const twin = listOf(load<u32>(list, 4), 0)
    store<u32>(listOf(load<u32>(twin, 8), 0), row, 4)
    store<u32>(twin, row, 8)
    return
  }
  const count = head & END_OF_COUNT
  if (count == m << 1) {
    choose<Kind>(choices, gather<Kind>(first, list, 0, count, choices), list, 1, count)
  } else {
    store<u32>(list + (<usize>count << 2), load<u32>(list, 4), 4)
    store<u32>(list, count + 1)
  }
  store<u32>(list, load<u32>(list) | HAS_TWINS)
  store<u32>(list, row, 4)
  store<u32>(own, row, 8)
}

/** Write the keys of the edges of row `from` to address `to`, ascending. Returns the address after the last key. */
function gather<Kind>(from: u32, list: usize, first: u32, count: u32, to: usize): usize {
  const vector = vectorOf(from)
  if (touch) {
    for (let i = first; i < count; i++) touchLines(vectorOf(load<u32>(list + (<usize>i << 2), 4)), stride)
  }
  let end = to
  for (let i = first; i < count; i++) {
    const row = load<u32>(list + (<usize>i << 2), 4)
    rise(to, end, keyOf(between<Kind>(vector, vectorOf(row)), row))
    end += 8
  }
  return end
}

/**
 * Choose edges, and write them to the list from edge number `first` on, until it has `maxEdges` edges. The candidates
 * are the ascending keys from address `from` to `end`. First, candidates are chosen that are at least as near to the
 * list's own row as to every row chosen before. If the list is not full then, the nearest of the other candidates are
 * added.
 */
function choose<Kind>(from: usize, end: usize, list: usize, first: u32, maxEdges: u32): void {
  const begin = list + 4 + (<usize>first << 2), stop = list + 4 + (<usize>maxEdges << 2)
  let to = begin
  let over = spare
  for (let at = from; at < end && to < stop; at += 8) {
    const key = load<u64>(at)
    const row = rowOf(key), bits = bitsOf(key)
    if (isApart<Kind>(row, bits, begin, to)) {
      store<u32>(to, row)
      to += 4
    } else {
      store<u32>(over, row)
      over += 4
    }
  }
  for (let at = spare; at < over && to < stop; at += 4) {
    store<u32>(to, load<u32>(at))
    to += 4
  }
  store<u32>(list, (load<u32>(list) & HAS_TWINS) | <u32>((to - list - 4) >> 2))
  for (; to < stop; to += 4) store<u32>(to, 0)
}

@inline
function isApart<Kind>(row: u32, bits: u32, begin: usize, end: usize): bool {
  const vector = vectorOf(row)
  for (let at = begin; at < end; at += 4) {
    if (between<Kind>(vector, vectorOf(load<u32>(at))) < bits) return false
  }
  return true
}

function enter<Kind>(query: usize, row: u32, level: i32): void {
  begin<Kind>(query, row)
  descend<Kind>(query, level, 0)
  if (visit(nearest)) offer(keyOf(nearestBits, nearest))
}

@inline
function begin<Kind>(query: usize, row: u32): void {
  nearest = row
  nearestBits = between<Kind>(query, vectorOf(row))
  measured++
}

/**
 * On each level from `from` down to `to + 1`: move `nearest` to a neighbour that is nearer to the query, until there is
 * no such neighbour.
 */
function descend<Kind>(query: usize, from: i32, to: i32): void {
  for (let level = from; level > to; level--) {
    for (let before = NO_ROW; before != nearest; ) {
      before = nearest
      const list = listOf(before, level)
      const count = headOf(list)
      if (touch) for (let i: u32 = 1; i <= count; i++) touchLines(vectorOf(load<u32>(list + (<usize>i << 2))), stride)
      for (let i: u32 = 1; i <= count; i++) {
        const row = load<u32>(list + (<usize>i << 2))
        const bits = between<Kind>(query, vectorOf(row))
        if (bits < nearestBits) {
          nearest = row
          nearestBits = bits
        }
      }
      measured += count
    }
  }
}

function openLevel(): void {
  if (++epoch > 0xffff) {
    memory.fill(visited, 0, <usize>rows << 1)
    epoch = 1
  }
  keptEnd = kept
  next = kept
  worst = u64.MAX_VALUE
}

function seed<Kind>(query: usize, list: usize, count: u32): void {
  const end = list + (<usize>count << 2)
  for (let at = list, touched = list; at < end; at += 4) {
    for (; touch && touched < end && touched < at + TOUCHED_AHEAD; touched += 4) touchLines(vectorOf(load<u32>(touched)), stride)
    const row = load<u32>(at)
    if (!visit(row)) continue
    measured++
    offer(keyOf(between<Kind>(query, vectorOf(row)), row))
  }
}

@inline
function walk<Kind>(query: usize): void {
  if (expandsKept()) search<Kind>(query, 0)
  else wander<Kind>(query)
}

/** Return whether the walk expands only kept rows. Then it needs no frontier. */
@inline
function expandsKept(): bool {
  return !filtered && factor == 0
}

/** Expand the kept rows, always the nearest first, until all are expanded. */
function search<Kind>(query: usize, level: i32): void {
  while (next < keptEnd) {
    const key = load<u64>(next)
    if (key & 1) {
      next += 8
      continue
    }
    store<u64>(next, key | 1)
    next += 8
    const end = lookAround(rowOf(key), level)
    if (touch && next < keptEnd) touchLines(listOf(rowOf(load<u64>(next)), level), listBytes(level))
    for (let at = nearby; at < end; at += 4) {
      const row = load<u32>(at)
      const found = keyOf(between<Kind>(query, vectorOf(row)), row)
      if (found < worst) keep(found)
    }
  }
}

/** Expand the rows of the frontier, always the nearest first, until the rule ends the walk. */
function wander<Kind>(query: usize): void {
  measuredBefore = measured
  oldest = 0
  for (let at = changes, end = changes + (<usize>late << 2); at <= end; at += 4) store<u32>(at, measured)
  ended = EMPTIED
  while (waiting > 0) {
    if (factor == 0 ? waitingAt(0) > worst : isSettled()) {
      ended = SETTLED
      return
    }
    if (factor > 0 && max(<f64>(measured - measuredBefore), goal()) >= <f64>most) {
      ended = SPENT
      return
    }
    const row = rowOf(popWaiting())
    if (touch && waiting > 0) touchLines(listOf(rowOf(waitingAt(0)), 0), listBytes(0))
    if (filtered) lookThrough<Kind>(query, row)
    else offerNearby<Kind>(query, lookAround(row, 0))
  }
  if (factor > 0 && isSettled()) ended = SETTLED
}

/**
 * Return whether the rule ends the walk. Two conditions must be true:
 * - At least `least` rows are kept, and these are nearer than all rows of the frontier.
 * - The walk has measured at least `factor` times as many rows as at the last change of the `watched` nearest rows,
 *   plus `more` rows. The last `late` changes are ignored.
 */
@inline
function isSettled(): bool {
  const end = kept + (<usize>least << 3)
  if (keptEnd < end || (waiting > 0 && waitingAt(0) < load<u64>(end - 8))) return false
  return <f64>(measured - measuredBefore) >= goal()
}

/**
 * Return the number of rows that the walk must measure before the rule can end it. The number never falls during a
 * walk.
 */
@inline
function goal(): f64 {
  const changed = load<u32>(changes + (<usize>oldest << 2)) - measuredBefore
  return <f64>factor * <f64>changed + <f64>more
}

/**
 * If at least the share 1 / 2^PASSING_SHIFT of a row's neighbours is allowed, the walk treats excluded neighbours like
 * allowed neighbours.
 */
const PASSING_SHIFT: u32 = 2

/**
 * Expand a row in a filtered walk. If many of its neighbours are allowed, offer all neighbours. Otherwise offer only
 * the allowed neighbours. If these are few, also offer the allowed neighbours of excluded neighbours. Excluded nodes
 * are not measured then, because many excluded nodes near the query would fill the frontier.
 */
function lookThrough<Kind>(query: usize, row: u32): void {
  const list = listOf(row, 0)
  const head = headOf(list)
  const stop = list + (<usize>(head & END_OF_COUNT) << 2)
  let end = nearby, excluded = spare
  for (let at = list + (<usize>firstEdge(head) << 2); at < stop; at += 4) {
    const to = load<u32>(at, 4)
    if (isAllowedNode(to)) {
      store<u32>(end, to)
      end += 4
    } else {
      store<u32>(excluded, to)
      excluded += 4
    }
  }
  const passing = <u32>((end - nearby) >> 2)
  if ((passing << PASSING_SHIFT) >= passing + <u32>((excluded - spare) >> 2)) {
    offerNearby<Kind>(query, lookAround(row, 0))
    return
  }
  end = unvisited(nearby, end)
  if (passing < max(m >> 1, 1)) {
    excluded = unvisited(spare, excluded)
    if (touch) for (let at = spare; at < excluded; at += 4) touchLines(listOf(load<u32>(at), 0), listBytes(0))
    for (let at = spare; at < excluded; at += 4) {
      if (end > nearby + (GATHERED << 2)) {
        offerMeasured<Kind>(query, end)
        end = nearby
      }
      end = gatherAllowed(load<u32>(at), end)
    }
  }
  offerMeasured<Kind>(query, end)
}

/**
 * Keep, of the rows from address `from` to `end`, those that were not visited before. Marks them as visited. Returns
 * the address after the last kept row.
 */
@inline
function unvisited(from: usize, end: usize): usize {
  const seen = visited, now = epoch
  let to = from
  for (let at = from; at < end; at += 4) {
    const row = load<u32>(at)
    const mark = seen + (<usize>row << 1)
    store<u32>(to, row)
    to += <usize>(load<u16>(mark) != now) << 2
    store<u16>(mark, <u16>now)
  }
  return to
}

/**
 * Write the allowed neighbours of `row` that were not visited before to address `to`. Returns the address after the
 * last of them.
 */
@inline
function gatherAllowed(row: u32, to: usize): usize {
  const list = listOf(row, 0)
  const head = headOf(list)
  const stop = list + (<usize>(head & END_OF_COUNT) << 2)
  let end = to
  for (let at = list + (<usize>firstEdge(head) << 2); at < stop; at += 4) {
    const next = load<u32>(at, 4)
    if (!isAllowedNode(next) || !visit(next)) continue
    store<u32>(end, next)
    end += 4
  }
  return end
}

/** Measure and offer the rows from address `nearby` to `end`, and count them. */
@inline
function offerMeasured<Kind>(query: usize, end: usize): void {
  if (touch) for (let at = nearby; at < end; at += 4) touchLines(vectorOf(load<u32>(at)), stride)
  measured += <u32>((end - nearby) >> 2)
  offerNearby<Kind>(query, end)
}

@inline
function offerNearby<Kind>(query: usize, end: usize): void {
  for (let at = nearby; at < end; at += 4) {
    const row = load<u32>(at)
    offer(keyOf(between<Kind>(query, vectorOf(row)), row))
  }
}

/**
 * Write the neighbours of `row` that were not visited before to `nearby`, and count them as measured. Returns the
 * address after the last of them. The loop has no branch on visited rows, because the CPU could not predict it.
 */
@inline
function lookAround(row: u32, level: i32): usize {
  const list = listOf(row, level)
  const head = headOf(list)
  const seen = visited, now = epoch, touching = touch
  const stop = list + (<usize>(head & END_OF_COUNT) << 2)
  let end = nearby
  for (let at = list + (<usize>firstEdge(head) << 2); at < stop; at += 4) {
    const to = load<u32>(at, 4)
    const mark = seen + (<usize>to << 1)
    store<u32>(end, to)
    end += <usize>(load<u16>(mark) != now) << 2
    store<u16>(mark, <u16>now)
  }
  if (touching) for (let at = nearby; at < end; at += 4) touchLines(vectorOf(load<u32>(at)), stride)
  measured += <u32>((end - nearby) >> 2)
  return end
}

/** Prefetch cache lines, so that the CPU waits for several of them at the same time. */
@inline
function touchLines(begin: usize, bytes: usize): void {
  const end = begin + bytes
  for (let line = begin; line < end; line += CACHE_LINE) load<u8>(line)
}

/** Mark the row as visited. Returns whether this is the first visit. */
@inline
function visit(row: u32): bool {
  const mark = visited + (<usize>row << 1)
  if (load<u16>(mark) == epoch) return false
  store<u16>(mark, <u16>epoch)
  return true
}

/**
 * Add a measured row to the frontier and to the kept rows, if it belongs there. Records a change of the watched rows.
 */
function offer(key: u64): void {
  if (expandsKept()) {
    if (key < worst) keep(key)
    return
  }
  pushWaiting(key)
  if (key >= worst || (filtered && !isAllowedNode(rowOf(key)))) return
  if (keep(key) >= kept + (watched << 3)) return
  store<u32>(changes + (<usize>oldest << 2), measured)
  oldest = oldest == late ? 0 : oldest + 1
}

/** Add a key that is below `worst` to the kept keys. Returns its address. */
function keep(key: u64): usize {
  let hole = keptEnd
  const last = kept + (<usize>(ef - 1) << 3)
  if (hole > last) hole = last
  else keptEnd = hole + 8
  hole = rise(kept, hole, key)
  if (hole < next) next = hole
  if (keptEnd > last) worst = load<u64>(last)
  return hole
}

/**
 * Insert `key` into the ascending keys from address `begin` to `hole`. The key at `hole` is overwritten. Returns the
 * address of `key`.
 */
@inline
function rise(begin: usize, hole: usize, key: u64): usize {
  while (hole > begin) {
    const below = load<u64>(hole - 8)
    if (below < key) break
    store<u64>(hole, below)
    hole -= 8
  }
  store<u64>(hole, key)
  return hole
}

function pushWaiting(key: u64): void {
  if (waiting == frontierMax) halveWaiting()
  let hole = waiting++
  while (hole > 0) {
    const parent = (hole - 1) >> 1
    const above = waitingAt(parent)
    if (above <= key) break
    setWaiting(hole, above)
    hole = parent
  }
  setWaiting(hole, key)
}

function popWaiting(): u64 {
  const first = waitingAt(0)
  const key = waitingAt(--waiting)
  let hole = 0
  for (let child = 1; child < waiting; child = 2 * hole + 1) {
    if (child + 1 < waiting && waitingAt(child + 1) < waitingAt(child)) child++
    const below = waitingAt(child)
    if (below >= key) break
    setWaiting(hole, below)
    hole = child
  }
  setWaiting(hole, key)
  return first
}

/**
 * Drop the farther half of the frontier. Takes the nearer half from the heap, nearest first, and stores it from the end
 * of the buffer backwards. Then copies it to the start of the buffer in ascending order, which is a valid heap.
 */
function halveWaiting(): void {
  const half = frontierMax >> 1
  for (let i = 0; i < half; i++) {
    const key = popWaiting()
    setWaiting(waiting, key)
  }
  for (let i = 0; i < half; i++) setWaiting(i, waitingAt(frontierMax - 1 - i))
  waiting = half
}

function report(k: u32, outRows: usize, outDistances: usize): u32 {
  let found: u32 = 0
  for (let at = kept; at < keptEnd && found < k; at += 8) {
    const key = load<u64>(at)
    const row = rowOf(key), bits = bitsOf(key)
    const distance = reinterpret<f32>(bits)
    if (!filtered || isAllowed(row)) put(row, distance, found++, outRows, outDistances)
    for (let twin = firstTwin(row); twin != NO_ROW && found < k; twin = nextTwin(twin)) {
      if (!filtered || isAllowed(twin)) put(twin, distance, found++, outRows, outDistances)
    }
  }
  return found
}

/** Write a row as result number `at`. Sorts rows of equal distance by row number. */
function put(row: u32, distance: f32, at: u32, outRows: usize, outDistances: usize): void {
  store<f32>(outDistances + (<usize>at << 2), distance)
  let hole = at
  while (hole > 0) {
    const before = <usize>(hole - 1) << 2
    const other = load<u32>(outRows + before)
    if (load<f32>(outDistances + before) != distance || other < row) break
    store<u32>(outRows + before, other, 4)
    hole--
  }
  store<u32>(outRows + (<usize>hole << 2), row)
}

function firstTwin(row: u32): u32 {
  const list = listOf(row, 0)
  return load<u32>(list) & HAS_TWINS ? load<u32>(list, 4) : NO_ROW
}

@inline
function nextTwin(twin: u32): u32 {
  const after = load<u32>(listOf(twin, 0), 4)
  return after == twin ? NO_ROW : after
}

@inline
function isAllowedNode(row: u32): bool {
  return ((load<u32>(allowedNodes + (<usize>(row >> 5) << 2)) >> (row & 31)) & 1) != 0
}

@inline
function isAllowed(row: u32): bool {
  return ((load<u32>(allowed + (<usize>(row >> 5) << 2)) >> (row & 31)) & 1) != 0
}

function clearList(list: usize, level: i32): void {
  memory.fill(list, 0, listBytes(level))
}

@inline
function listBytes(level: i32): usize {
  return (<usize>(level == 0 ? m << 1 : m) << 2) + 4
}

@inline
function listOf(row: u32, level: i32): usize {
  return level == 0
    ? links + ((<usize>row * (1 + (<usize>m << 1))) << 2)
    : upperLinks + ((<usize>load<u32>(upperStarts + (<usize>row << 2)) + <usize>(level - 1) * (1 + m)) << 2)
}

@inline
function headOf(list: usize): u32 {
  return ASC_FEATURE_THREADS ? atomic.load<u32>(list) : load<u32>(list)
}

@inline
function setHead(list: usize, head: u32): void {
  if (ASC_FEATURE_THREADS) atomic.store<u32>(list, head)
  else store<u32>(list, head)
}

@inline
function lockOf(row: u32): usize {
  return locks + (<usize>(1 + row % (LOCKS - 1)) << 2)
}

function lock(at: usize): void {
  while (atomic.cmpxchg<u32>(at, 0, 1) != 0) {
    let looks = LOOKS
    while (atomic.load<u32>(at) != 0) if (--looks == 0) break
    // The thread with the lock may itself wait for a processor core. So wait for a fixed time: no thread wakes waiting
    // threads, which makes releasing a lock cheap.
    if (looks == 0) atomic.wait<i32>(at, 1, WAIT_NANOSECONDS)
  }
}

@inline
function unlock(at: usize): void {
  atomic.store<u32>(at, 0)
}

@inline
function firstEdge(head: u32): u32 {
  return head >> 31
}

@inline
function vectorOf(row: u32): usize {
  return vectors + <usize>row * stride
}

@inline
function keyOf(bits: u32, row: u32): u64 {
  return (<u64>bits << 32) | (row << 1)
}

@inline
function rowOf(key: u64): u32 {
  return <u32>key >> 1
}

@inline
function bitsOf(key: u64): u32 {
  return <u32>(key >> 32)
}

@inline
function waitingAt(i: i32): u64 {
  return load<u64>(frontier + (<usize>i << 3))
}

@inline
function setWaiting(i: i32, key: u64): void {
  store<u64>(frontier + (<usize>i << 3), key)
}

/** Return the bits of the distance between a query and a row, or between two rows. */
@inline
function between<Kind>(query: usize, row: usize): u32 {
  if (is<Kind, F32>()) return betweenFloats(query, row)
  else if (is<Kind, U8>()) return betweenBytes(query, row)
  else return sumOfParts(query, row)
}

/**
 * Return the bits of the squared distance of floats. The square of element i is added to lane i mod 16, as in
 * `distance.ts`.
 */
@inline
function betweenFloats(query: usize, row: usize): u32 {
  let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0
  const end = row + stride
  for (; row < end; row += 64, query += 64) {
    const x0 = f32x4.sub(v128.load(row), v128.load(query))
    const x1 = f32x4.sub(v128.load(row, 16), v128.load(query, 16))
    const x2 = f32x4.sub(v128.load(row, 32), v128.load(query, 32))
    const x3 = f32x4.sub(v128.load(row, 48), v128.load(query, 48))
    a0 = f32x4.add(a0, f32x4.mul(x0, x0))
    a1 = f32x4.add(a1, f32x4.mul(x1, x1))
    a2 = f32x4.add(a2, f32x4.mul(x2, x2))
    a3 = f32x4.add(a3, f32x4.mul(x3, x3))
  }
  const v = f32x4.add(f32x4.add(a0, a1), f32x4.add(a2, a3))
  const w = f32x4.add(v, i32x4.shuffle(v, v, 2, 3, 0, 1))
  return reinterpret<u32>(f32x4.extract_lane(w, 0) + f32x4.extract_lane(w, 1))
}

@inline
function betweenBytes(query: usize, row: usize): u32 {
  let a0 = i32x4.splat(0), a1 = a0
  const end = row + stride
  for (; row < end; row += 16, query += 16) {
    const x0 = i16x8.sub(v128.load8x8_u(row), v128.load8x8_u(query))
    const x1 = i16x8.sub(v128.load8x8_u(row, 8), v128.load8x8_u(query, 8))
    a0 = i32x4.add(a0, i32x4.dot_i16x8_s(x0, x0))
    a1 = i32x4.add(a1, i32x4.dot_i16x8_s(x1, x1))
  }
  const v = i32x4.add(a0, a1)
  const w = i32x4.add(v, i32x4.shuffle(v, v, 2, 3, 0, 1))
  return reinterpret<u32>(<f32>(<u32>(i32x4.extract_lane(w, 0) + i32x4.extract_lane(w, 1))))
}

/**
 * Return the bits of the sum of a row's entries in the table. The entry of part i is added to lane i mod 4. The sum is
 * (0 + 2) + (1 + 3).
 */
@inline
function sumOfParts(table: usize, row: usize): u32 {
  let a0: f32 = 0, a1: f32 = 0, a2: f32 = 0, a3: f32 = 0
  const end = row + stride, whole = row + (stride & ~3)
  for (; row < whole; row += 4, table += 4096) {
    const codes = load<u32>(row)
    a0 += load<f32>(table + (<usize>(codes & 255) << 2))
    a1 += load<f32>(table + (<usize>((codes >> 8) & 255) << 2), 1024)
    a2 += load<f32>(table + (<usize>((codes >> 16) & 255) << 2), 2048)
    a3 += load<f32>(table + (<usize>(codes >> 24) << 2), 3072)
  }
  if (row < end) a0 += load<f32>(table + (<usize>load<u8>(row) << 2))
  if (row + 1 < end) a1 += load<f32>(table + (<usize>load<u8>(row, 1) << 2), 1024)
  if (row + 2 < end) a2 += load<f32>(table + (<usize>load<u8>(row, 2) << 2), 2048)
  return reinterpret<u32>((a0 + a2) + (a1 + a3))
}

@inline
function is<A, B>(): bool {
  return idof<A>() == idof<B>()
}
