import { expect } from 'vitest'
import type { SheafError } from '../../src/errors.js'

/** The error a call ends with; fails when it succeeds. */
export async function failure(call: Promise<unknown>): Promise<SheafError> {
  return call.then(
    () => expect.fail('the call succeeded'),
    error => error,
  )
}
