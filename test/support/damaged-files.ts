/** Limits of the tests with random damaged files. */
import { expect } from 'vitest'

/** Number of damaged files of each format. `npm run test:long` sets it. */
export const damagedFiles = Number(
  process.env.SHEAF_DAMAGED_FILES ?? (process.env.SHEAF_SEED === undefined ? 2000 : 20_000),
)

/** Maximum milliseconds for one file, of the clock or of the processor. The machine may be busy with other tests. */
const maxMs = 1000

/** Measures the time to read each file. */
export class ReadTimes {
  slowestMs = 0
  files = 0

  /** Read a file. The test fails if this takes longer than a second. `name`: the file, for messages. */
  async measure<T>(name: string, read: () => Promise<T>): Promise<T> {
    const cpu = process.cpuUsage()
    const begin = performance.now()
    try {
      return await read()
    } finally {
      const { user, system } = process.cpuUsage(cpu)
      const ms = Math.min((user + system) / 1000, performance.now() - begin)
      this.files++
      this.slowestMs = Math.max(this.slowestMs, ms)
      expect(ms, `milliseconds to read ${name}`).toBeLessThan(maxMs)
    }
  }

  /** Print the figures in long runs. */
  print(format: string): void {
    if (process.env.SHEAF_DAMAGED_FILES === undefined) return
    console.log(`${this.files} damaged files of ${format}, slowest ${Math.round(this.slowestMs)} ms`)
  }
}
