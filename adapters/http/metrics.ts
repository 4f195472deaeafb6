/**
 * What a server tells of itself in the text format of Prometheus, 0.0.4. Labels have values that a server knows beforehand:
 * nothing that a client sends makes a line more.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { RootStats } from '../../src/index.js'
import type { RequestRecord } from './options.js'

/** Upper bounds of the durations that are told apart, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** How often it is looked how late the event loop is; what is measured is the time between two looks. */
const lookMs = 20

interface Durations {
  /** How many were at most as long as each bound, and longer than the one before it; the last: longer than all. */
  readonly counts: number[]
  sum: number
}

/** What there is to tell at a moment. */
export interface Moment {
  readonly inFlight: number
  readonly connections: number
  readonly stats: RootStats | undefined
}

/** Counts requests. */
export class Metrics {
  /** By operation, then status. */
  readonly #requests = new Map<string, Map<number, number>>()
  readonly #durations = new Map<string, Durations>()
  #bytesIn = 0
  #bytesOut = 0
  #connectionsRefused = 0
  /** Runs from the first time somebody asks. */
  #delay: IntervalHistogram | undefined

  count(record: RequestRecord): void {
    const { status, durationMs, bytesIn, bytesOut } = record
    const operation = record.operation ?? 'none'
    const statuses = this.#requests.get(operation) ?? new Map<number, number>()
    this.#requests.set(operation, statuses.set(status, (statuses.get(status) ?? 0) + 1))
    const own = this.#durations.get(operation) ?? { counts: [...bounds, 0].map(() => 0), sum: 0 }
    this.#durations.set(operation, own)
    const at = bounds.findIndex(bound => durationMs / 1000 <= bound)
    own.counts[at === -1 ? bounds.length : at]!++
    own.sum += durationMs / 1000
    this.#bytesIn += bytesIn
    this.#bytesOut += bytesOut
  }

  countConnectionRefused(): void {
    this.#connectionsRefused++
  }

  text({ inFlight, connections, stats }: Moment): string {
    const { rss, heapUsed, external } = process.memoryUsage()
    return [
      family('sheaf_http_requests_total', 'counter', 'Requests answered.', this.#requestSamples()),
      family(
        'sheaf_http_request_duration_seconds',
        'histogram',
        'From the head of a request to the end of its reply.',
        this.#durationSamples(),
      ),
      plain('sheaf_http_received_bytes_total', 'counter', 'Bodies of requests.', this.#bytesIn),
      plain('sheaf_http_sent_bytes_total', 'counter', 'Bodies of replies.', this.#bytesOut),
      plain('sheaf_http_in_flight', 'gauge', 'Calls under way.', inFlight),
      plain('sheaf_http_connections', 'gauge', 'Connections open.', connections),
      plain(
        'sheaf_http_connections_refused_total',
        'counter',
        'Connections closed unanswered, above the limit.',
        this.#connectionsRefused,
      ),
      family(
        'sheaf_event_loop_delay_seconds',
        'gauge',
        'How late timers were since this was last asked for.',
        this.#delaySamples(),
      ),
      plain('process_resident_memory_bytes', 'gauge', 'Memory of the process.', rss),
      plain('sheaf_process_heap_bytes', 'gauge', 'Of it, objects in use.', heapUsed),
      plain('sheaf_process_external_bytes', 'gauge', 'Of it, buffers.', external),
      ...(stats === undefined ? [] : rootFamilies(stats)),
    ].join('')
  }

  #requestSamples(): string[] {
    return [...this.#requests].flatMap(([operation, statuses]) =>
      [...statuses].map(([status, count]) => `{operation="${operation}",status="${status}"} ${count}`),
    )
  }

  #durationSamples(): string[] {
    return [...this.#durations].flatMap(([operation, { counts, sum }]) => {
      let count = 0
      const buckets = counts.map((more, i) => {
        count += more
        return `_bucket{operation="${operation}",le="${bounds[i] ?? '+Inf'}"} ${count}`
      })
      return [
        ...buckets,
        `_sum{operation="${operation}"} ${sum}`,
        `_count{operation="${operation}"} ${count}`,
      ]
    })
  }

  #delaySamples(): string[] {
    this.#delay ??= startedDelay()
    const { max } = this.#delay
    const late = [0.5, 0.99].map(quantile => [quantile, this.#delay!.percentile(quantile * 100)] as const)
    this.#delay.reset()
    return [...late, [1, max] as const].map(
      ([quantile, ns]) => `{quantile="${quantile}"} ${Math.max(0, ns / 1e9 - lookMs / 1000)}`,
    )
  }

  close(): void {
    this.#delay?.disable()
  }
}

function startedDelay(): IntervalHistogram {
  const delay = monitorEventLoopDelay({ resolution: lookMs })
  delay.enable()
  return delay
}

function rootFamilies({ memory, log, maintenance }: RootStats): string[] {
  const partitions = Object.entries(memory.partitions)
  const of = (field: 'bytes' | 'entries' | 'hits' | 'misses') =>
    partitions.map(([partition, stats]) => `{partition="${partition}"} ${stats[field]}`)
  return [
    plain('sheaf_memory_budget_bytes', 'gauge', 'What may be kept of what was read.', memory.budgetBytes),
    plain('sheaf_memory_bytes', 'gauge', 'What is kept of what was read.', memory.bytes),
    family('sheaf_memory_room_bytes', 'gauge', 'What is kept, by sort.', of('bytes')),
    family('sheaf_memory_room_entries', 'gauge', 'What is kept, by sort.', of('entries')),
    family('sheaf_memory_room_hits_total', 'counter', 'Found there.', of('hits')),
    family('sheaf_memory_room_misses_total', 'counter', 'Read or made.', of('misses')),
    plain('sheaf_log_slot', 'gauge', 'The newest slot read or written.', log.slot),
    family(
      'sheaf_maintenance_total',
      'counter',
      'What maintenance has done.',
      Object.entries(maintenance).map(([kind, count]) => `{kind="${kind}"} ${count}`),
    ),
  ]
}

type Kind = 'counter' | 'gauge' | 'histogram'

function plain(name: string, kind: Kind, help: string, value: number): string {
  return family(name, kind, help, [` ${value}`])
}

/** `samples`: what follows the name. */
function family(name: string, kind: Kind, help: string, samples: readonly string[]): string {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${kind}`,
    ...samples.map(sample => name + sample),
    '',
  ].join('\n')
}
