/**
 * Sends the units of a search to the nodes of a root. A node that fails or is slow never fails the search: a failed
 * sub-query is sent a second time, and then this process computes the answer.
 */
import type { Layout } from '../manifest/layout.js'
import type { Clock } from '../primitives/clock.js'
import type { NodeSender, Request } from '../protocol/calls.js'
import { operations } from '../protocol/operations.js'
import { writeRequest } from '../protocol/wire.js'
import type { SearchUnit, Spread, UnitAnswer, UnitQuery } from '../query/units.js'
import type { Engine } from '../root/engine.js'
import { readUnit } from './unit-answer.js'
import { type UnitToken, unitForm } from './unit-token.js'

/** Maximum number of sub-queries of a search that are open at the same time. */
const openMax = 64
/** Share of the sub-queries that must be answered before the others count as slow. */
const mostShare = 0.75
/** A sub-query is slow after this multiple of the 95th percentile of the answered ones, and after `slowMs` milliseconds. */
const slowFactor = 2
const slowMs = 20
/** Time between two checks whether a sub-query is slow, milliseconds. */
const checkMs = 10

/** The query of a spread search. */
interface SpreadQuery extends Omit<UnitToken, 'query'> {
  readonly layout: Layout
  readonly signal: AbortSignal | undefined
}

/** Return a `Spread` for one query. The tokens contain the query, so that each node plans it again. */
export async function openSpread(
  { retained, clock }: Engine,
  nodes: NodeSender,
  request: Request<'queryTable'>,
  query: Omit<SpreadQuery, 'form' | 'request'>,
): Promise<Spread> {
  const seal = await retained.tokens.sealing()
  const { body } = writeRequest(operations.queryTable, request)
  return new NodeSpread(nodes, seal, { ...query, form: unitForm, request: body! }, clock)
}

/** Computes an answer in this process. */
type Local = Parameters<Spread['answers']>[2]

/** Sends the sub-queries of one query. */
class NodeSpread implements Spread {
  readonly #nodes: NodeSender
  readonly #seal: (value: unknown) => string
  readonly #query: SpreadQuery
  readonly #clock: Clock
  readonly #lines: string[] = []

  constructor(nodes: NodeSender, seal: (value: unknown) => string, query: SpreadQuery, clock: Clock) {
    this.#nodes = nodes
    this.#seal = seal
    this.#query = query
    this.#clock = clock
  }

  get minWorkMs(): number {
    return this.#nodes.minWorkMs
  }

  report(): readonly string[] {
    return this.#lines
  }

  async answers(
    queries: readonly UnitQuery[],
    units: readonly SearchUnit[],
    local: Local,
  ): Promise<readonly UnitAnswer[]> {
    const end = new AbortController()
    const { signal: outer } = this.#query
    const signal = outer === undefined ? end.signal : AbortSignal.any([outer, end.signal])
    const all = new Siblings(queries.length, local, signal)
    const answers: UnitAnswer[] = new Array(queries.length)
    let next = 0
    const work = async () => {
      while (next < queries.length) {
        const i = next++
        answers[i] = await this.#answer(queries[i]!, units[queries[i]!.unit]!, all)
      }
    }
    try {
      await Promise.all(Array.from({ length: Math.min(openMax, queries.length) }, work))
    } finally {
      // After an error, ends the other sub-queries.
      end.abort()
    }
    this.#lines.push(all.report(queries[0]!.search))
    return answers
  }

  /** Return the answer of a node. If the node fails or is slow, this process computes the answer, too. */
  async #answer(query: UnitQuery, { shard }: SearchUnit, all: Siblings): Promise<UnitAnswer> {
    const lost = new AbortController()
    const signal = AbortSignal.any([all.signal, lost.signal])
    const begun = this.#clock.elapsed()
    const age = () => this.#clock.elapsed() - begun
    try {
      const remote = this.#remote(query, shard, all, signal)
      const first = await Promise.race([remote, this.#slow(age, all, signal)])
      if (first !== 'slow' && first !== null) {
        all.durations.push(age())
        return first
      }
      const own = all.alone(query, signal)
      if (first === null) return await own
      all.hedged++
      return await new Promise((resolve, reject) => {
        remote.then(found => found !== null && resolve(found))
        own.then(resolve, reject)
      })
    } finally {
      lost.abort()
    }
  }

  /** Return the answer of a node, or null after two failures. */
  async #remote(
    query: UnitQuery,
    shard: string,
    all: Siblings,
    signal: AbortSignal,
  ): Promise<UnitAnswer | null> {
    const { layout, signal: _, ...content } = this.#query
    const token = this.#seal({ ...content, query } satisfies UnitToken)
    for (let tries = 0; tries < 2; tries++) {
      try {
        const bytes = await this.#nodes.send(content.id, `${content.uuid}/${shard}`, token, signal)
        const { answer, ms } = readUnit(bytes, query, layout)
        all.nodeMs.push(ms)
        return answer
      } catch {
        if (signal.aborted) return null
        all.failures++
      }
    }
    return null
  }

  /** Resolve when a sub-query is slow, or when `signal` aborts. */
  async #slow(age: () => number, all: Siblings, signal: AbortSignal): Promise<'slow'> {
    try {
      for (let left = checkMs; left > 0; left = all.limitMs(this.#nodes.hedgeMs) - age()) {
        await this.#clock.sleep(Math.min(left, checkMs), signal, true)
      }
    } catch {}
    return 'slow'
  }
}

/** The sub-queries of one search. */
class Siblings {
  readonly signal: AbortSignal
  /** Milliseconds from sending to the answer, for each answered sub-query. */
  readonly durations: number[] = []
  /** Milliseconds of the search in the node, for each answered sub-query. */
  readonly nodeMs: number[] = []
  failures = 0
  hedged = 0
  readonly #count: number
  readonly #local: Local
  #alone = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(count: number, local: Local, signal: AbortSignal) {
    this.#count = count
    this.#local = local
    this.signal = signal
  }

  /** Return the time after which a sub-query is slow, milliseconds. `most`: its maximum. */
  limitMs(most: number): number {
    const { length } = this.durations
    if (length < mostShare * this.#count) return most
    const sorted = this.durations.toSorted((a, b) => a - b)
    return Math.min(most, Math.max(slowMs, slowFactor * sorted[Math.ceil(0.95 * length) - 1]!))
  }

  /** Compute an answer in this process. Answers are computed one at a time, so that they need the memory of one. */
  alone(query: UnitQuery, signal: AbortSignal): Promise<UnitAnswer> {
    const answer = this.#turn.then(() => {
      signal.throwIfAborted()
      this.#alone++
      return this.#local(query, signal)
    })
    this.#turn = answer.catch(() => {})
    return answer
  }

  report(search: UnitQuery['search']): string {
    const { nodeMs, failures, hedged } = this
    const each = nodeMs.map(ms => ms.toFixed(1)).join(', ')
    const parts = `${nodeMs.length} of ${this.#count} parts answered by nodes in [${each}] ms`
    return `nodes: ${search}: ${parts}, computed_here=${this.#alone}, failures=${failures}, hedged=${hedged}`
  }
}
