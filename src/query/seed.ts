/** Returns seeds of hash tables. */
import type { Clock } from '../primitives/clock.js'

/** Return an unpredictable seed for groupers. */
export function seedOf(clock: Clock): number {
  return Math.floor(clock.random() * 2 ** 32)
}
