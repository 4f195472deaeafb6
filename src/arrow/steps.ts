/** Runs work either synchronously, or in steps between which the event loop turns. One implementation serves both. */
import type { Pacer } from '../primitives/pacer.js'

/** Yields where the work may be interrupted. Returns its result. */
export type Steps<T> = Generator<void, T, void>

/** Run the steps without pauses. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Run the steps with pauses. @throws the reason of the pacer's signal. */
export async function runPaced<T>(steps: Steps<T>, pacer: Pacer): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await pacer.turn()
  }
}
