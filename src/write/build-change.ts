/** Turns staged rows into a `Change`: numbers fragments and rows, given the state that the entry will follow. */
import { latestOf, type TableHead } from '../catalog/state.js'
import type {
  AddedColumns,
  AddedDead,
  AddedFile,
  AddedFragment,
  AddedIds,
  AddedRuns,
  Change,
  FoldedDead,
  Move,
  ZoneRecords,
} from '../manifest/change.js'
import type { Fragment } from '../manifest/layout.js'
import type { IndexChange } from '../manifest/table-index.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { ChangeKind } from '../protocol/change-kind.js'
import type { Draft } from './stage.js'
import type { IdsDraft, RunsContent, RunsDraft } from './stage-runs.js'

/** Rows that keep their ids from other fragments. */
export interface MovedDraft {
  readonly draft: Draft
  readonly ids: IdsDraft
}

/** Columns for all rows of an existing fragment, in batches of the same lengths as the fragment has. */
export interface ColumnsDraft {
  readonly fragment: number
  readonly draft: Draft
}

/** A run of fragments that other fragments replace, at the same position in the table. */
export interface MovePart {
  /** The replaced fragments: consecutive. */
  readonly from: readonly Fragment[]
  /** Ids of those in `from` that the table has lost meanwhile. */
  readonly gone: readonly number[]
  /** The live rows of `from`, in order. */
  readonly moved: readonly MovedDraft[]
  /** Rows deleted after they were written, by offset in their draft. */
  readonly dead: ReadonlyMap<MovedDraft, RunsDraft>
}

/** The parts of a change, before its fragments and rows have numbers. */
export interface ChangeParts {
  readonly kind: ChangeKind
  /** New rows. */
  readonly drafts?: readonly Draft[]
  /** Existing rows with new values. Their old positions are among `dead` or `drop`. */
  readonly moved?: readonly MovedDraft[]
  readonly moves?: readonly MovePart[]
  readonly folded?: readonly FoldedDead[]
  readonly columns?: readonly ColumnsDraft[]
  /** Changes of the table's indexes. `idOf` returns the fragment id of a moved draft. */
  readonly indexes?: (idOf: (draft: MovedDraft) => number) => readonly IndexChange[]
  readonly restore?: Change['restore']
  /** Ids of the fields in the drafts, in order. */
  readonly fields?: readonly number[]
  readonly drop?: readonly number[]
  /** `moved` may have new rows with ids below this number. */
  readonly nextRow?: number
  /** Offsets of deleted rows, by fragment. */
  readonly dead?: ReadonlyMap<number, RunsDraft>
  /** A new schema, with the field counter after it. */
  readonly schema?: { readonly schema: TableSchema; readonly nextField: number }
}

/** Build the change that the parts describe. `firstBlob`: the number that the first of `blobs` will have in the slot. */
export function buildChange(
  head: TableHead,
  parts: ChangeParts,
  firstBlob: number,
): { readonly change: Change; readonly blobs: readonly Uint8Array[] } {
  const { drafts = [], moved = [], moves = [], columns = [], fields = [], dead = new Map() } = parts
  const numbering = new Numbering(firstBlob, fields, head.next.frag)
  let row = Math.max(head.next.row, parts.nextRow ?? 0)
  const add: AddedFragment[] = []
  const died: AddedDead[] = [...dead].map(([id, offsets]) => numbering.dead(id, offsets))
  for (const { draft, ids } of moved) add.push(numbering.fragment(draft, numbering.ids(ids)))
  const fragmentOf = new Map<MovedDraft, number>()
  const changedPositions = moves.map(({ from, gone, moved, dead }): Move => {
    const to = moved.map(each => {
      const added = numbering.fragment(each.draft, numbering.ids(each.ids))
      fragmentOf.set(each, added.id)
      const offsets = dead.get(each)
      if (offsets !== undefined) died.push(numbering.dead(added.id, offsets))
      add.push(added)
      return added.id
    })
    return {
      from: from.map(({ id, rows }) => [id, rows]),
      ...(gone.length > 0 && { gone }),
      to,
    }
  })
  for (const draft of drafts) {
    add.push(numbering.fragment(draft, { row0: row }))
    row += draft.rows
  }
  const added = columns.map(({ fragment, draft }): AddedColumns => {
    return { fragment, file: numbering.file(draft), ...numbering.zones(draft) }
  })
  const indexes = parts.indexes?.(draft => fragmentOf.get(draft)!) ?? []
  const change: Change = {
    op: 'change',
    t: head.uuid,
    v: head.mark + 1,
    base: latestOf(head) ?? 0,
    start: head.start,
    kind: parts.kind,
    ...(parts.restore !== undefined && { restore: parts.restore }),
    add,
    dead: died,
    drop: parts.drop ?? [],
    ...(changedPositions.length > 0 && { moves: changedPositions }),
    ...(parts.folded !== undefined && parts.folded.length > 0 && { folded: parts.folded }),
    ...(added.length > 0 && { columns: added }),
    ...(indexes.length > 0 && { indexes }),
    schema: parts.schema?.schema ?? null,
    next: { row, frag: numbering.nextFragment, field: parts.schema?.nextField ?? head.next.field },
  }
  return { change, blobs: numbering.blobs }
}

/** Gives numbers to the fragments and blobs of a change. */
class Numbering {
  readonly blobs: Uint8Array[] = []
  nextFragment: number
  readonly #firstBlob: number
  readonly #fields: readonly number[]

  constructor(firstBlob: number, fields: readonly number[], nextFragment: number) {
    this.#firstBlob = firstBlob
    this.#fields = fields
    this.nextFragment = nextFragment
  }

  fragment(draft: Draft, ids: AddedIds): AddedFragment {
    const id = this.nextFragment++
    return { id, rows: draft.rows, ids, files: [this.file(draft)], ...this.zones(draft) }
  }

  file({ content }: Draft): AddedFile {
    const fields = this.#fields
    return 'blob' in content
      ? { blob: this.#blob(content.blob), bytes: content.blob.length, fields }
      : { ...content, fields }
  }

  zones({ zones }: Draft): { readonly zones?: ZoneRecords } {
    return zones.size > 0 ? { zones: zonesByField(zones, this.#fields) } : {}
  }

  ids(ids: IdsDraft): AddedIds {
    if ('row0' in ids) return ids
    const { content, ...bounds } = ids
    return { ...this.#runs(content), ...bounds }
  }

  dead(fragment: number, { content, runs }: RunsDraft): AddedDead {
    return [fragment, this.#runs(content), runs.count]
  }

  #runs(content: RunsContent): AddedRuns {
    return 'blob' in content ? { blob: this.#blob(content.blob) } : content
  }

  #blob(bytes: Uint8Array): number {
    return this.#firstBlob + this.blobs.push(bytes) - 1
  }
}

/** The inverse of `zonesByField`. */
export function zonesByColumn(zones: ZoneRecords, fields: readonly number[]): Draft['zones'] {
  return new Map(Object.entries(zones).map(([field, zone]) => [fields.indexOf(Number(field)), zone]))
}

/** Convert zones by column into zones by field id. */
export function zonesByField(zones: Draft['zones'], fields: readonly number[]): ZoneRecords {
  return Object.fromEntries([...zones].map(([column, zone]) => [fields[column]!, zone]))
}
