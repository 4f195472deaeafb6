/** Compares calls by their outcomes. */
import { SheafError } from '../../src/index.js'

/** The result of a call, or its error. */
export type Outcome = { readonly rows: unknown } | { readonly error: string }

/** Return the result of a call, or the text of its error. */
export async function outcomeOf(run: () => unknown): Promise<Outcome> {
  try {
    return { rows: await run() }
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
    return { error: `${error.code}: ${error.message}` }
  }
}
