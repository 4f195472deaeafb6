/** Runs the command `sheaf import`. */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { quote } from '../../src/errors.js'
import type { Namespace } from '../../src/index.js'
import type { Call } from './arguments.js'
import { formatNames } from './format-names.js'
import { importLanceTables, lanceTablesOf } from './import-lance.js'
import { Import } from './import-table.js'
import { Misuse } from './misuse.js'
import { openRoot } from './open-root.js'
import { showCounted } from './quantities.js'
import { checkFormatOptions, hasKnownEnding } from './source-formats.js'
import { findSources } from './sources.js'
import { untilStopped } from './stopping.js'

/** Import files into a table, or tables of LanceDB. */
export async function importSources(command: Call<'import'>, signal = untilStopped()): Promise<void> {
  checkOptions(command)
  await refuseFormatNames(command)
  const tables = await lanceTablesOf(command)
  if (tables !== null) return importLanceTables(command, tables, signal)
  const { files, leftOut } = await findSources(command.source, hasKnownEnding)
  noteLeftOut(leftOut)
  const name = command.table ?? tableNameOf(command)
  await using root: Namespace = await openRoot(command, { writes: true, signal })
  const work = new Import(root, command, signal, { name, files })
  await work.run()
}

/** Throw `Misuse` if a source that does not exist is named like a format: `sheaf import lance ./lancedb ./data`. */
async function refuseFormatNames({ source }: Call<'import'>): Promise<void> {
  for (const name of formatNames) {
    if (!source.includes(name) || (await stat(name).catch(() => null)) !== null) continue
    throw new Misuse(`there is no file ${name}: to give the format, pass --format ${name}`)
  }
}

/** Left out files that are named. */
const namedFiles = 5

function noteLeftOut(paths: readonly string[]): void {
  for (const path of paths.slice(0, namedFiles)) {
    console.error(`left out: ${path}; its name has no known ending`)
  }
  const more = paths.length - namedFiles
  if (more > 0) console.error(`left out: ${showCounted(more, 'more file')}`)
}

function checkOptions(command: Call<'import'>): void {
  const { mode = 'create', key, vector, types, badRows = 'fail', rejects, format } = command
  if (mode === 'upsert' && key === undefined) throw new Misuse('--mode upsert needs --key')
  if (mode !== 'upsert' && key !== undefined) throw new Misuse('--key needs --mode upsert')
  if (mode !== 'create' && (vector ?? types) !== undefined) {
    const option = types === undefined ? '--vector' : '--types'
    throw new Misuse(
      `${option} needs --mode create: the table of --mode ${mode} has the types of its columns`,
    )
  }
  if (rejects !== undefined && badRows !== 'skip') throw new Misuse('--rejects needs --bad-rows skip')
  if (format !== undefined) checkFormatOptions(command, new Set([format]))
}

/** Return the name of the table of a database, or the name of the only source without its endings. */
function tableNameOf({ source: sources, sourceTable }: Call<'import'>): string {
  const [source, ...more] = sources
  if (more.length > 0 || /[*?]/.test(source!)) {
    throw new Misuse('several sources need the name of the table: pass --table')
  }
  const name = basename(source!).replace(/\.gz$/i, '')
  // Usual endings of SQLite files and hnswlib indexes, which other files have too.
  const hasEnding = hasKnownEnding(name) || /\.(db|bin)$/i.test(name)
  const stem = sourceTable ?? (hasEnding ? name.replace(/\.[^.]+$/, '') : name)
  if (/^[\w-]+$/.test(stem)) return stem
  throw new Misuse(`pass the name of the table in --table, because ${quote(stem)} is not a usual name`)
}
