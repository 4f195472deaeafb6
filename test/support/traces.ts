/** Stack traces of errors. A test in which nearly every call fails spends a third of its time on them. */
import { afterAll, beforeAll } from 'vitest'

/** Cut the traces of all errors to the place of the error and its caller, during the tests of a file. Call it at the top of the file. */
export function shortTraces(): void {
  const usual = Error.stackTraceLimit
  beforeAll(() => {
    Error.stackTraceLimit = 2
  })
  afterAll(() => {
    Error.stackTraceLimit = usual
  })
}
