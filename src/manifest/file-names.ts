/**
 * Names of the files that hold the data of tables: `<birth, base 36>-<uuid>`. The birth is the newest slot that the writer
 * knew when it began, so that what is young enough to be still on its way into the log is told by its name (STORAGE S7).
 */
import type { Change } from './change.js'
import type { Layout } from './layout.js'
import { filesOfIndexChanges, filesOfSegments } from './table-index.js'

/** Folders of a table, and how names of files in them end. */
const endings = { data: '.arrow', rows: '.runs', indexes: '.arrow' } as const

export type FileFolder = keyof typeof endings

const pattern = /^(0|[1-9a-z][0-9a-z]{0,10})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function fileName(birth: number, uuid: string): string {
  return `${birth.toString(36)}-${uuid}`
}

/** The birth in a name; null for a name that Sheaf did not give. */
export function birthOf(name: string): number | null {
  const match = pattern.exec(name)
  if (match === null) return null
  const birth = Number.parseInt(match[1]!, 36)
  return Number.isSafeInteger(birth) ? birth : null
}

/** Where a file lies, from the table's folder on. */
export function filePath(folder: FileFolder, name: string): string {
  return `${folder}/${name}${endings[folder]}`
}

/** The birth of the file at a path from the table's folder on; null for what is no such file. */
export function birthOfPath(path: string): number | null {
  const slash = path.indexOf('/')
  const ending = endings[path.slice(0, Math.max(0, slash)) as FileFolder] as string | undefined
  if (ending === undefined || !path.endsWith(ending)) return null
  return birthOf(path.slice(slash + 1, -ending.length))
}

/** The files that a change brings, by their paths from the table's folder on. A change never names a file again. */
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

/** What a layout refers to: files by their paths from the table's folder on, and slots that hold blobs. */
export function* placesOfLayout({ fragments, indexes }: Layout): Generator<string | number> {
  for (const { segments } of indexes) {
    for (const [folder, name] of filesOfSegments(segments)) yield filePath(folder, name)
  }
  for (const { ids, files, dead } of fragments) {
    if ('file' in ids) yield filePath('rows', ids.file)
    else if ('slot' in ids) yield ids.slot
    for (const each of files) yield 'file' in each ? filePath('data', each.file) : each.slot
    for (const part of dead.parts) yield 'file' in part ? filePath('rows', part.file) : part.slot
  }
}
