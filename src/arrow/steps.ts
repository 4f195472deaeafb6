/**
 * Runs a computation either synchronously, or in steps with pauses for the event loop. The computation is written once,
 * as a generator.
 */
import type { Pacer } from '../primitives/pacer.js'

/** A computation as a generator. It yields where it may be interrupted, and returns its result. */
export type Steps<T> = Generator<void, T, void>

/** Run all steps without pauses. Returns the result. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Run all steps, and yield to the event loop when the pacer says so. @throws the reason of the pacer's signal. */
export async function runPaced<T>(steps: Steps<T>, pacer: Pacer): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await pacer.turn()
  }
}
