/**
 * Metrics of a server in the text format of Prometheus, 0.0.4. Label values come from fixed lists and never from a
 * request, so clients cannot add lines.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { RootStats } from '../../src/index.js'
import { DurationHistogram, type Durations, durationBounds } from '../../src/primitives/histogram.js'
import type { SentParts } from './node-client.js'
import type { RequestRecord } from './options.js'

/** Interval at which the event-loop delay is sampled, milliseconds. A sample is the time between two timer ticks. */
const lookMs = 20

/** Values that are read when a client requests the metrics. */
interface Moment {
  readonly inFlight: number
  readonly streams: number
  readonly connections: number
  readonly stats: RootStats | undefined
  readonly parts: SentParts | undefined
}

/** Counts requests, and formats the metrics. */
export class Metrics {
  /** Number of requests by operation, then by status. */
  readonly #requests = new Map<string, Map<number, number>>()
  readonly #durations = new Map<string, DurationHistogram>()
  #bytesIn = 0
  #bytesOut = 0
  #connectionsRefused = 0
  /** The samples of the event-loop delay. Sampling starts when metrics are first requested. */
  #delay: IntervalHistogram | undefined

  count(record: RequestRecord): void {
    const { status, durationMs, bytesIn, bytesOut } = record
    const operation = record.operation ?? 'none'
    const statuses = this.#requests.get(operation) ?? new Map<number, number>()
    this.#requests.set(operation, statuses.set(status, (statuses.get(status) ?? 0) + 1))
    const own = this.#durations.get(operation) ?? new DurationHistogram()
    this.#durations.set(operation, own)
    own.add(durationMs)
    this.#bytesIn += bytesIn
    this.#bytesOut += bytesOut
  }

  countConnectionRefused(): void {
    this.#connectionsRefused++
  }

  text({ inFlight, streams, connections, stats, parts }: Moment): string {
    const { rss, heapUsed, external } = process.memoryUsage()
    return [
      family('sheaf_http_requests_total', 'counter', 'Requests answered.', this.#requestSamples()),
      family(
        'sheaf_http_request_duration_seconds',
        'histogram',
        'Time from the head of a request to the end of its reply.',
        [...this.#durations].flatMap(([operation, own]) => histogram(`operation="${operation}"`, own)),
      ),
      plain('sheaf_http_received_bytes_total', 'counter', 'Bytes of request bodies.', this.#bytesIn),
      plain('sheaf_http_sent_bytes_total', 'counter', 'Bytes of reply bodies.', this.#bytesOut),
      plain('sheaf_http_in_flight', 'gauge', 'Calls in progress.', inFlight),
      plain('sheaf_http_streams', 'gauge', 'Open streams of changes.', streams),
      plain('sheaf_http_connections', 'gauge', 'Open connections.', connections),
      plain(
        'sheaf_http_connections_refused_total',
        'counter',
        'Connections closed without an answer, above the limit.',
        this.#connectionsRefused,
      ),
      family(
        'sheaf_event_loop_delay_seconds',
        'gauge',
        'Event-loop delay since the last scrape.',
        this.#delaySamples(),
      ),
      plain('process_resident_memory_bytes', 'gauge', 'Resident memory of the process.', rss),
      plain('sheaf_process_heap_bytes', 'gauge', 'JavaScript heap in use.', heapUsed),
      plain('sheaf_process_external_bytes', 'gauge', 'Memory of buffers outside of the heap.', external),
      ...(parts === undefined ? [] : [partsFamily(parts)]),
      ...(stats === undefined ? [] : rootFamilies(stats)),
    ].join('')
  }

  #requestSamples(): string[] {
    return [...this.#requests].flatMap(([operation, statuses]) =>
      [...statuses].map(([status, count]) => `{operation="${operation}",status="${status}"} ${count}`),
    )
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

function partsFamily(parts: SentParts): string {
  const samples = Object.entries(parts).map(([result, count]) => `{result="${result}"} ${count}`)
  return family(
    'sheaf_search_parts_total',
    'counter',
    'Parts of searches for other nodes, by result.',
    samples,
  )
}

function rootFamilies({ memory, log, store, diskCache, maintenance }: RootStats): string[] {
  const partitions = Object.entries(memory.partitions)
  const of = (field: 'bytes' | 'entries' | 'hits' | 'misses') =>
    partitions.map(([partition, stats]) => `{partition="${partition}"} ${stats[field]}`)
  return [
    plain('sheaf_memory_budget_bytes', 'gauge', 'Budget of the cache.', memory.budgetBytes),
    plain('sheaf_memory_bytes', 'gauge', 'Bytes in the cache.', memory.bytes),
    family('sheaf_memory_partition_bytes', 'gauge', 'Bytes in the cache, by partition.', of('bytes')),
    family('sheaf_memory_partition_entries', 'gauge', 'Entries in the cache, by partition.', of('entries')),
    family('sheaf_memory_partition_hits_total', 'counter', 'Cache hits, by partition.', of('hits')),
    family('sheaf_memory_partition_misses_total', 'counter', 'Cache misses, by partition.', of('misses')),
    plain('sheaf_log_slot', 'gauge', 'The newest slot of the log that was read or written.', log.slot),
    ...(store === undefined ? [] : storeFamilies(store)),
    ...(diskCache === undefined ? [] : diskCacheFamilies(diskCache)),
    family(
      'sheaf_maintenance_total',
      'counter',
      'Maintenance tasks done, by kind.',
      Object.entries(maintenance).map(([kind, count]) => `{kind="${kind}"} ${count}`),
    ),
  ]
}

function diskCacheFamilies({ hits, misses, damaged }: NonNullable<RootStats['diskCache']>): string[] {
  return [
    plain('sheaf_disk_cache_hits_total', 'counter', 'Ranges read from the disk cache.', hits),
    plain('sheaf_disk_cache_misses_total', 'counter', 'Ranges that the disk cache did not have.', misses),
    plain('sheaf_disk_cache_damaged_total', 'counter', 'Damaged files of the disk cache.', damaged),
  ]
}

function storeFamilies({
  requests,
  retries,
  errors,
  receivedBytes,
  sentBytes,
  durations,
}: NonNullable<RootStats['store']>): string[] {
  const counts = Object.entries(requests)
  return [
    family(
      'sheaf_store_requests_total',
      'counter',
      'Requests to object storage, by kind. Each attempt counts.',
      counts.map(([kind, count]) => `{kind="${kind}"} ${count}`),
    ),
    plain('sheaf_store_retries_total', 'counter', 'Repetitions of requests to object storage.', retries),
    family(
      'sheaf_store_errors_total',
      'counter',
      'Requests to object storage without a usable answer, by reason.',
      Object.entries(errors).map(([reason, count]) => `{reason="${reason}"} ${count}`),
    ),
    plain(
      'sheaf_store_received_bytes_total',
      'counter',
      'Bytes of objects received from object storage.',
      receivedBytes,
    ),
    plain('sheaf_store_sent_bytes_total', 'counter', 'Bytes of objects sent to object storage.', sentBytes),
    family(
      'sheaf_store_request_duration_seconds',
      'histogram',
      'Duration of requests to object storage, by kind.',
      Object.entries(durations).flatMap(([kind, own]) => histogram(`kind="${kind}"`, own)),
    ),
  ]
}

/** Return the samples of a histogram. `label`: the label that all samples have. */
function histogram(label: string, { counts, sum }: Durations): string[] {
  let count = 0
  const buckets = counts.map((more, i) => {
    count += more
    return `_bucket{${label},le="${durationBounds[i] ?? '+Inf'}"} ${count}`
  })
  return [...buckets, `_sum{${label}} ${sum}`, `_count{${label}} ${count}`]
}

type Kind = 'counter' | 'gauge' | 'histogram'

function plain(name: string, kind: Kind, help: string, value: number): string {
  return family(name, kind, help, [` ${value}`])
}

/** Format one family of metrics. `samples`: the text of each sample after the name of the family. */
function family(name: string, kind: Kind, help: string, samples: readonly string[]): string {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${kind}`,
    ...samples.map(sample => name + sample),
    '',
  ].join('\n')
}
