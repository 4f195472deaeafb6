/** Handles the bad rows of an import: counts them, and writes them to a file. */
import { createWriteStream, type WriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { jsonText } from '../files/json-text.js'
import { plainOf } from '../files/write-value.js'
import type { RefusedRow } from './import-rows.js'

/** Bad rows whose errors are printed if no file takes them. */
const shownErrors = 3

export class Rejects {
  count = 0
  /** The errors of the first bad rows. */
  readonly errors: string[] = []
  readonly #stream: WriteStream | undefined
  #failure: Error | undefined

  /** `path`: the file for the bad rows, which is replaced. Absent: bad rows are only counted. */
  constructor(path?: string) {
    this.#stream = path === undefined ? undefined : createWriteStream(path)
    this.#stream?.on('error', error => {
      this.#failure = error
    })
  }

  /** Note a bad row of the source `file`. */
  add(file: string, { line, error, data }: RefusedRow): void {
    this.count++
    if (this.errors.length < shownErrors) this.errors.push(error.message)
    this.#stream?.write(`${jsonText(plainOf({ file, line, error: error.message, data }))}\n`)
  }

  /** Wait until the file can take more. Throws `ServiceUnavailable` if the file cannot be written. */
  async drain(): Promise<void> {
    this.#check()
    if (this.#stream?.writableNeedDrain === true) {
      await new Promise<void>(resolve => {
        this.#stream!.once('drain', resolve)
        this.#stream!.once('close', resolve)
      })
    }
    this.#check()
  }

  async close(): Promise<void> {
    this.#stream?.end()
    if (this.#stream !== undefined) await finished(this.#stream).catch(() => {})
    this.#check()
  }

  #check(): void {
    if (this.#failure === undefined) return
    throw new SheafError(
      ErrorCode.ServiceUnavailable,
      `the file of --rejects cannot be written: ${this.#failure.message}`,
    )
  }
}
