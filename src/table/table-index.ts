/** An index of a table at one version: its segments' answers as rows of fragments. */
import type { ScalarKind, ScalarProbe } from '../indexes/scalar/probe.js'
import type { Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import type { RowSet } from '../primitives/row-set.js'

export interface IndexReader {
  readonly name: string
  readonly kind: ScalarKind
  /** The column it finds rows by, as a path: a top-level column, or a field inside of structs. */
  readonly path: readonly string[]
  /** For how many rows it covers a probe is true, dead ones included: as exact as `ScalarSegment.estimate`. */
  estimate(probe: ScalarProbe, pacer: Pacer): Promise<number>
  /** Rows for which a probe is true, by fragment id: of the rows it covers, dead ones included. Fragments without any are missing. */
  find(probe: ScalarProbe, pacer: Pacer): Promise<ReadonlyMap<number, RowSet>>
  /** The rows of a fragment of this version that it covers. Reads nothing but maps of compactions. */
  covered(fragment: Fragment, pacer: Pacer): Promise<RowSet>
}
