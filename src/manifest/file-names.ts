/**
 * Names of the files with the data of tables: `<creation slot, base 36>-<uuid>`. The creation slot is the newest slot
 * that the writer knew when it began to write. Garbage collection compares this slot with a limit, because a new file
 * may belong to a commit that is not in the log yet (STORAGE S7).
 */
import type { Change } from './change.js'
import { type Layout, own } from './layout.js'
import { filesOfIndexChanges, filesOfSegments } from './table-index.js'

/** By folder of a table: the extension of its file names. */
const endings = { data: '.arrow', rows: '.runs', indexes: '.arrow' } as const

type FileFolder = keyof typeof endings

const pattern = /^(0|[1-9a-z][0-9a-z]{0,10})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Return a file name without extension. `slot`: the creation slot. */
export function fileName(slot: number, uuid: string): string {
  return `${slot.toString(36)}-${uuid}`
}

/** Return the creation slot from a file name. Returns null for a name that Sheaf did not choose. */
function creationSlotOf(name: string): number | null {
  const match = pattern.exec(name)
  if (match === null) return null
  const slot = Number.parseInt(match[1]!, 36)
  return Number.isSafeInteger(slot) ? slot : null
}

/** Return the path of a file, relative to the table's folder. */
export function filePath(folder: FileFolder, name: string): string {
  return `${folder}/${name}${endings[folder]}`
}

/**
 * Return the creation slot of a file from its path relative to the table's folder. Returns null for the path of any
 * other file.
 */
export function creationSlotOfPath(path: string): number | null {
  const slash = path.indexOf('/')
  const ending = endings[path.slice(0, Math.max(0, slash)) as FileFolder] as string | undefined
  if (ending === undefined || !path.endsWith(ending)) return null
  return creationSlotOf(path.slice(slash + 1, -ending.length))
}

/**
 * Return whether a key is that of a file with the data of a table. Such a name has a uuid, so its file has the same bytes in
 * every copy of the root.
 */
export function isDataFile(key: string): boolean {
  return creationSlotOfPath(key.split('/').slice(-2).join('/')) !== null
}

/**
 * Yield the paths of the files that a change adds, relative to the table's folder. Two changes never add the same file.
 */
export function* filesOfChange({
  add,
  dead,
  columns = [],
  folded = [],
  indexes = [],
}: Change): Generator<string> {
  for (const { ids, files } of add) {
    if ('file' in ids) yield filePath('rows', ids.file)
    for (const each of files) if ('file' in each) yield filePath('data', each.file)
  }
  for (const [, offsets] of dead) if ('file' in offsets) yield filePath('rows', offsets.file)
  for (const { file } of columns) if ('file' in file) yield filePath('data', file.file)
  for (const [, , offsets] of folded) yield filePath('rows', offsets.file)
  for (const [folder, name] of filesOfIndexChanges(indexes)) yield filePath(folder, name)
}

/**
 * Yield everything to which the manifest of a version refers: files as paths relative to the table's folder, and slots
 * with blobs as numbers.
 */
export function* referencesOfLayout({ fragments, indexes }: Layout): Generator<string | number> {
  for (const { segments } of indexes) {
    for (const [folder, name] of filesOfSegments(segments)) yield filePath(folder, name)
  }
  for (const { ids, files, dead } of fragments) {
    if ('file' in ids) yield filePath('rows', ids.file)
    else if ('slot' in ids) yield ids.slot
    for (const each of files.map(own)) yield 'file' in each ? filePath('data', each.file) : each.slot
    for (const part of dead.parts.map(own)) yield 'file' in part ? filePath('rows', part.file) : part.slot
  }
}
