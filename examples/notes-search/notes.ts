/** Notes that are found by meaning, by words, or by both. */
import { type Namespace, type RowOf, type Search, schema, type Table } from 'sheaf'

const noteSchema = schema({
  id: 'string!',
  title: 'string!',
  text: 'string!',
  folder: 'string!',
  tags: 'string![]!',
  edited: 'timestamp!',
  embedding: 'vector(64)!',
})

type StoredNote = RowOf<typeof noteSchema>
export type NoteTable = Table<StoredNote>

/** A note as the application has it: without its embedding. */
export type Note = Omit<StoredNote, 'embedding'>

/** Returns the embedding of a text: a vector of 64 numbers. */
export type Embed = (text: string) => Promise<Float32Array>

/** Conditions on notes. A note must meet all that are given. */
export interface Filter {
  readonly folder?: string
  readonly tag?: string
  readonly editedSince?: Date
}

export interface Page {
  /** The number of the page. The first page is 0. */
  readonly number: number
  readonly size: number
}

/** Open the table of notes. The first call creates the table and its indexes for words. */
export async function openNotes(ns: Namespace): Promise<NoteTable> {
  const notes = await ns.createTable('notes', [], { schema: noteSchema, mode: 'exist_ok' })
  for (const column of ['title', 'text']) {
    await notes.createIndex(column, { type: 'FTS', replace: false, waitTimeoutMs: 10_000 })
  }
  return notes
}

/** Insert new notes, and update the notes that have the same id. Returns how many notes were new. */
export async function saveNotes(notes: NoteTable, changed: readonly Note[], embed: Embed): Promise<number> {
  const rows = await Promise.all(
    changed.map(async note => ({ ...note, embedding: await embed(`${note.title} ${note.text}`) })),
  )
  const { inserted } = await notes.upsert(rows, { on: 'id' })
  return inserted
}

/** Find notes by meaning: the nearest embeddings first. */
export async function findByMeaning(notes: NoteTable, embedding: Float32Array, filter: Filter, page: Page) {
  const search = notes.search(embedding).distanceType('cosine')
  return pageOf(filtered(search, filter), page).select(['id', 'title']).toArray()
}

/** Find notes that contain any of the words. `_highlights.text` is HTML with the words in bold. */
export async function findByWords(notes: NoteTable, words: string, filter: Filter, page: Page) {
  const search = notes.search(words).highlight({ columns: ['text'], escape: 'html' })
  return pageOf(filtered(search, filter), page).select(['id', 'title']).toArray()
}

/** Find notes by meaning and by words. The best notes of both rankings come first. */
export async function findByBoth(
  notes: NoteTable,
  query: { readonly words: string; readonly embedding: Float32Array },
  filter: Filter,
  page: Page,
) {
  const search = notes.search(query.embedding).distanceType('cosine').fullText(query.words)
  return pageOf(filtered(search, filter), page).select(['id', 'title']).toArray()
}

/** Count the notes of each folder that contain any of the words. */
export async function countByFolder(notes: NoteTable, words: string) {
  return notes
    .search(words)
    .groupBy('folder')
    .select({ folder: 'folder', notes: 'count(*)', newest: 'max(edited)' })
    .orderBy('notes desc', 'folder')
    .toArray()
}

/** Count the notes of each tag. */
export async function countByTag(notes: NoteTable, filter: Filter): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for await (const { tags } of filtered(notes.query(), filter).select(['tags'])) {
    for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  }
  return counts
}

function filtered<R extends object, T extends object>(search: Search<R, T>, filter: Filter): Search<R, T> {
  const { folder, tag, editedSince } = filter
  let result = search
  if (folder !== undefined) result = result.where('folder = ?', [folder])
  if (tag !== undefined) result = result.where('array_has(tags, ?)', [tag])
  if (editedSince !== undefined) result = result.where('edited >= ?', [editedSince])
  return result
}

function pageOf<R extends object, T extends object>(search: Search<R, T>, page: Page): Search<R, T> {
  return search.limit(page.size).offset(page.number * page.size)
}
