/**
 * Builds the `Change` of a commit from staged rows. Gives numbers to the new fragments and rows. The numbers depend on
 * the state of the table that the commit follows, so a commit that is retried builds its change again.
 */
import { asBytes } from '../arrow/layout.js'
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

/** A staged fragment with existing rows, which keep their row ids. */
export interface MovedDraft {
  readonly draft: Draft
  readonly ids: IdsDraft
}

/**
 * Staged columns for all rows of an existing fragment. Their record batches have the same lengths as those of the
 * fragment.
 */
export interface ColumnsDraft {
  readonly fragment: number
  readonly draft: Draft
}

/** Adjacent fragments, and the fragments that replace them at the same position in the table. */
export interface MovePart {
  /** The replaced fragments, which are adjacent in the table. */
  readonly from: readonly Fragment[]
  /** Ids of the fragments of `from` that the newest version no longer has, because all their rows were deleted. */
  readonly gone: readonly number[]
  /** The new fragments: the rows of `from` that were live when the compaction began, in the same order. */
  readonly moved: readonly MovedDraft[]
  /** By new fragment: offsets of the rows that were deleted after the compaction began. */
  readonly dead: ReadonlyMap<MovedDraft, RunsDraft>
}

/** The parts of a change, before its fragments and rows have numbers. */
export interface ChangeParts {
  readonly kind: ChangeKind
  /** Fragments with new rows. */
  readonly drafts?: readonly Draft[]
  /**
   * Fragments with existing rows that have new values. `dead` or `drop` must delete the rows at their old positions.
   */
  readonly moved?: readonly MovedDraft[]
  /** The results of compactions. */
  readonly moves?: readonly MovePart[]
  /** Merged deletion vectors. */
  readonly folded?: readonly FoldedDead[]
  /** New columns of existing fragments. */
  readonly columns?: readonly ColumnsDraft[]
  /** Returns the changes of the table's indexes. `idOf` returns the id of a new fragment of `moves`. */
  readonly indexes?: (idOf: (draft: MovedDraft) => number) => readonly IndexChange[]
  readonly restore?: Change['restore']
  /** Ids of the fields of the staged columns, in the order of the columns. */
  readonly fields?: readonly number[]
  /** Ids of fragments to remove. */
  readonly drop?: readonly number[]
  /** Minimum id of later rows. It is above the ids in `moved`, which contains new rows when a view is refreshed. */
  readonly nextRow?: number
  /** By fragment id: offsets of the rows to delete. */
  readonly dead?: ReadonlyMap<number, RunsDraft>
  /** The new schema, and the id of the next new field after it. */
  readonly schema?: { readonly schema: TableSchema; readonly nextField: number }
}

/**
 * Build the change that the parts describe. Returns it with its inline blobs. `firstBlob`: the number that the first of
 * these blobs will have in the slot.
 */
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

/**
 * Return the change that `buildChange` returns for one fragment of new rows in a blob. Most commits are such appends. A
 * change of one kind needs none of the optional parts, and is built in a fraction of the time.
 *
 * `bytes`: the size of the blob. `fields`: ids of its fields. `blob`: the number of the blob in the slot.
 */
export function appendedRows(
  head: TableHead,
  rows: number,
  bytes: number,
  fields: readonly number[],
  blob: number,
): Change {
  const { row, frag, field } = head.next
  return {
    op: 'change',
    t: head.uuid,
    v: head.mark + 1,
    base: latestOf(head) ?? 0,
    start: head.start,
    kind: 'append',
    add: [{ id: frag, rows, ids: { row0: row }, files: [{ blob, bytes, fields }] }],
    dead: [],
    drop: [],
    schema: null,
    next: { row: row + rows, frag: frag + 1, field },
  }
}

/** The effect of a write on at most one row of a table. */
interface RowWrite {
  readonly kind: ChangeKind
  /** The row that is deleted. `rowsLeft`: the number of live rows of its fragment before. Null: none. */
  readonly removed: {
    readonly fragment: number
    readonly offset: number
    readonly rowsLeft: number
  } | null
  /** The row that is written, as the bytes of a batch. `id`: the id that it keeps; null: it is new. Null: none. */
  readonly written: { readonly bytes: Uint8Array; readonly id: number | null } | null
}

/**
 * Return the change that `buildChange` returns for the write of one row, with its inline blobs.
 *
 * `fields`: ids of the fields of the row. `firstBlob`: see `buildChange`.
 */
export function changedRow(
  head: TableHead,
  { kind, removed, written }: RowWrite,
  fields: readonly number[],
  firstBlob: number,
): { readonly change: Change; readonly blobs: readonly Uint8Array[] } {
  const { row, frag, field } = head.next
  const blobs: Uint8Array[] = []
  const add: AddedFragment[] = []
  const dead: AddedDead[] = []
  const isLast = removed?.rowsLeft === 1
  if (removed !== null && !isLast) {
    dead.push([removed.fragment, { blob: firstBlob }, 1])
    blobs.push(asBytes(Uint32Array.of(removed.offset)))
  }
  if (written !== null) {
    const { bytes, id } = written
    const file = { blob: firstBlob + blobs.length, bytes: bytes.length, fields }
    add.push({ id: frag, rows: 1, ids: { row0: id ?? row }, files: [file] })
    blobs.push(bytes)
  }
  const change: Change = {
    op: 'change',
    t: head.uuid,
    v: head.mark + 1,
    base: latestOf(head) ?? 0,
    start: head.start,
    kind,
    add,
    dead,
    drop: isLast ? [removed.fragment] : [],
    schema: null,
    next: { row: row + (written?.id === null ? 1 : 0), frag: frag + add.length, field },
  }
  return { change, blobs }
}

/** The counters for the fragments and blobs of a change. */
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

/** Convert zone maps by field id into zone maps by column number. `fields`: ids of the columns' fields. */
export function zonesByColumn(zones: ZoneRecords, fields: readonly number[]): Draft['zones'] {
  return new Map(Object.entries(zones).map(([field, zone]) => [fields.indexOf(Number(field)), zone]))
}

/** Convert zone maps by column number into zone maps by field id. `fields`: ids of the columns' fields. */
export function zonesByField(zones: Draft['zones'], fields: readonly number[]): ZoneRecords {
  return Object.fromEntries([...zones].map(([column, zone]) => [fields[column]!, zone]))
}
