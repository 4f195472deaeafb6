/** Work that can be done at once, or in steps between which the event loop turns: one code for both. */
import type { Pacer } from '../primitives/pacer.js'

/** Yields where it may be interrupted; returns its result. */
export type Steps<T> = Generator<void, T, void>

export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** @throws `signal.reason` of the pacer's signal. */
export async function runPaced<T>(steps: Steps<T>, pacer: Pacer): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await pacer.turn()
  }
}
