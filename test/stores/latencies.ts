import type { StoreReport } from '../../adapters/storage/public.js'

/** Print the latencies that `checkStore` measured. */
export function printLatencies(latencies: StoreReport['latencies']): void {
  console.table(
    Object.entries(latencies).map(([name, { p50, p95, p99 }]) => {
      const [half, most, nearlyAll] = [p50, p95, p99].map(ms => Number(ms.toFixed(1)))
      return { name, p50: half, p95: most, p99: nearlyAll }
    }),
  )
}
