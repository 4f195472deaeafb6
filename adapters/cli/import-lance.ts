/** Imports tables of LanceDB: their newest rows, the tags of these rows, and the definitions of their indexes. */
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import type { Namespace } from '../../src/index.js'
import type { Call } from './arguments.js'
import { Import, isLasting } from './import-table.js'
import { lanceIndexes } from './lance-indexes.js'
import { type LanceTable, lanceFoldersAt, lanceTableName, lanceTags, openLanceTable } from './lance-source.js'
import { Misuse } from './misuse.js'
import { openRoot } from './open-root.js'
import { progressLine } from './progress.js'
import { showCounted } from './quantities.js'
import { checkFormatOptions, hasKnownEnding } from './source-formats.js'
import { refuseRoot } from './sources.js'

/** A table of LanceDB to import, and the name of the new table. */
interface Chosen {
  readonly folder: string
  readonly name: string
}

/** Return the tables of LanceDB that the operands name. Null: they name files. */
export async function lanceTablesOf({
  source,
  format,
  table,
}: Call<'import'>): Promise<readonly Chosen[] | null> {
  if (format !== undefined && format !== 'lance') return null
  const folders: string[] = []
  let others = 0
  for (const operand of source) {
    const isDirectory = (await stat(operand).catch(() => null))?.isDirectory() === true
    if (isDirectory) await refuseRoot(operand)
    const found = isDirectory ? await lanceFoldersAt(operand) : []
    folders.push(...found)
    if (found.length > 0) {
      if (found[0] !== operand) await noteOtherFiles(operand)
      continue
    }
    if (format === 'lance') throw invalidInput(`${quote(operand)} has no table of LanceDB`)
    others++
  }
  if (folders.length === 0) return null
  if (others > 0) throw new Misuse('import tables of LanceDB and files separately')
  const tables = folders.map(folder => ({ folder, name: lanceTableName(folder) }))
  const repeated = tables.find(({ name }, i) => tables.findIndex(each => each.name === name) < i)
  if (repeated !== undefined)
    throw new Misuse(`two tables of LanceDB have the name ${repeated.name}: import them separately`)
  if (table === undefined) return tables
  const isNamed = source.length === 1 && resolve(source[0]!) === resolve(folders[0]!)
  if (isNamed) return [{ folder: folders[0]!, name: table }]
  const chosen = tables.filter(({ name }) => name === table)
  if (chosen.length > 0) return chosen
  throw new Misuse(
    `no table of LanceDB has the name ${table}: there are ${tables.map(({ name }) => name).join(', ')}`,
  )
}

/** Name the files in a directory of LanceDB that could be imported without the tables. */
async function noteOtherFiles(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).sort()) {
    if (hasKnownEnding(name)) console.error(`left out: ${join(directory, name)}; import it separately`)
  }
}

/** Import tables of LanceDB. A table that cannot be imported does not stop the import of the others. */
export async function importLanceTables(
  command: Call<'import'>,
  tables: readonly Chosen[],
  signal: AbortSignal,
): Promise<void> {
  checkFormatOptions(command, new Set(['lance']))
  if (tables.length > 1 && (command.mode ?? 'create') !== 'create')
    throw new Misuse(`--mode ${command.mode} needs one table of LanceDB: name it in --table`)
  await using root: Namespace = await openRoot(command, { writes: true, signal })
  const finished: Import[] = []
  const failures: SheafError[] = []
  const unbuilt: string[] = []
  for (const [i, { folder, name }] of tables.entries()) {
    try {
      const { work, failed } = await importOne(root, folder, name, {
        command,
        signal,
        isOneOfMany: tables.length > 1,
      })
      finished.push(work)
      unbuilt.push(...failed)
    } catch (error) {
      if (tables.length === 1) throw error
      if (!(error instanceof SheafError) || !isLasting(error)) {
        const rest = tables.slice(i).map(each => each.name)
        console.error(`not complete: ${rest.join(', ')}; run the same command again to continue`)
        throw error
      }
      failures.push(error)
      const hint = error.hint === undefined ? '' : ` (${error.hint})`
      console.error(`table ${name} is not imported: ${error.message}${hint}`)
    }
  }
  if (failures.length > 0) {
    const message = `${failures.length} of ${showCounted(tables.length, 'table')} could not be imported`
    throw new SheafError(failures[0]!.code, message, { cause: failures[0] })
  }
  for (const each of finished) await each.forget()
  if (unbuilt.length === 0) return
  throw new SheafError(ErrorCode.InvalidTableState, `indexes could not be built: ${unbuilt.join(', ')}`, {
    hint: 'the tables are complete; create these indexes with other parameters',
  })
}

interface Context {
  readonly command: Call<'import'>
  readonly signal: AbortSignal
  readonly isOneOfMany: boolean
}

/** Import one table. Returns the import, and the indexes whose builds failed. */
async function importOne(
  root: Namespace,
  folder: string,
  name: string,
  context: Context,
): Promise<{ readonly work: Import; readonly failed: readonly string[] }> {
  const { command, signal, isOneOfMany } = context
  const table = await openLanceTable(folder)
  const isNew = (command.mode ?? 'create') === 'create'
  const built: string[] = []
  const work = new Import(root, command, signal, {
    name,
    files: [table.source],
    isOneOfMany,
    ...(isNew && {
      complete: async (id, version) => {
        const { lines, indexes } = await copyDefinitions(root, table, { id, version, signal })
        built.push(...indexes)
        return lines
      },
    }),
  })
  await work.run()
  // A server builds its indexes itself.
  const isServer = /^https?:/i.test(command.directory)
  return { work, failed: isServer ? [] : await waitForIndexes(root, name, built, signal) }
}

interface Target {
  readonly id: readonly string[]
  readonly version: number
  readonly signal: AbortSignal
}

/** Give a new table the tags and indexes of a table of LanceDB. Returns lines that say what was copied. */
async function copyDefinitions(
  { operations }: Namespace,
  { folder, version: original, manifest }: LanceTable,
  { id, version, signal }: Target,
): Promise<{ readonly lines: readonly string[]; readonly indexes: readonly string[] }> {
  const lines: string[] = []
  const leaveOut = (what: string) => console.error(`not copied from table ${lanceTableName(folder)}: ${what}`)
  for (const [tag, tagged] of await lanceTags(folder, signal, leaveOut)) {
    if (tagged !== original) {
      leaveOut(`tag ${tag}, because it names version ${tagged}, and version ${original} was copied`)
      continue
    }
    await operations.createTableTag({ id, tag, version }, { signal }).catch(error => {
      // An interrupted import has created the tag.
      if (!(error instanceof SheafError && error.code === ErrorCode.TagAlreadyExists)) throw error
    })
    lines.push(`  tag ${tag} = v${version}`)
  }
  const indexes: string[] = []
  for (const { name, definition } of await lanceIndexes(folder, manifest)) {
    const error =
      definition instanceof SheafError
        ? definition
        : await operations.createTableIndex({ id, ...definition }, { signal }).then(
            () => null,
            cause => {
              if (cause instanceof SheafError && isLasting(cause)) return cause
              throw cause
            },
          )
    if (error !== null || definition instanceof SheafError) {
      leaveOut(`index ${name}: ${error!.message}`)
      continue
    }
    indexes.push(name)
    lines.push(`  index ${name}  ${definition.index_type} on ${definition.column}`)
  }
  return { lines, indexes }
}

/** Wait for the builds of indexes. Returns the indexes whose builds failed. */
async function waitForIndexes(
  root: Namespace,
  name: string,
  indexes: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (indexes.length === 0) return []
  const line = progressLine()
  const table = await root.openTable(name, { signal })
  const failed: string[] = []
  for (const [i, index] of indexes.entries()) {
    line.show(
      `building index ${index}, ${i + 1} of ${indexes.length}; an interruption leaves it to the next process`,
    )
    try {
      await table.waitForIndex(index, { signal }).finally(() => line.clear())
    } catch (error) {
      if (!(error instanceof SheafError && error.code === ErrorCode.InvalidTableState)) throw error
      console.error(error.message)
      failed.push(index)
    }
  }
  return failed
}
