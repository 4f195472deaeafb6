/** Keeps the state of an import in a file beside its first source, so that the same command continues it. */
import { createHash } from 'node:crypto'
import { readFile, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { invalidInput, quote } from '../../src/errors.js'
import { writeLocalFile } from '../../src/storage/local-file.js'
import type { SourceFile } from './sources.js'

/** The version of the state file. Another version chooses other parts, so it cannot continue an import. */
const stateFormat = 1

export interface ImportState {
  readonly format: number
  /** Name of the table that the parts are uploaded to. */
  readonly target: string
  /** Id of the upload. Null: it had not begun. */
  readonly upload: string | null
  /** The options that determine the rows of the parts, as JSON. */
  readonly options: string
  readonly sources: readonly SourceFile[]
  /** Whether the table is complete. The state of a complete table is kept until all tables of a directory are. */
  readonly isFinished?: boolean
}

const restart = 'pass --restart to discard what was sent, and to start again'

/** The file with the state of one import: of some sources into one table of one root. */
export class ImportStateFile {
  readonly path: string

  constructor(operands: readonly string[], first: SourceFile, directory: string, table: string) {
    const root = /^[a-z0-9+.-]+:\/\//i.test(directory) ? directory : resolve(directory)
    const key = JSON.stringify([operands.map(operand => resolve(operand)), root, table])
    const id = createHash('sha256').update(key).digest('hex').slice(0, 16)
    this.path = join(dirname(first.path), `.sheaf-import-${id}.json`)
  }

  /** Return the state of an interrupted import, or null. Throws `InvalidInput` for a file that has no state. */
  async read(): Promise<ImportState | null> {
    const text = await readFile(this.path, 'utf8').catch(error => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    })
    if (text === null) return null
    const state = parsed(text)
    if (state !== null) return state
    throw invalidInput(`${quote(this.path)} is not the state of an import of this version of sheaf`, {
      hint: 'delete the file to start again',
    })
  }

  async write(state: Omit<ImportState, 'format'>): Promise<void> {
    const text = `${JSON.stringify({ format: stateFormat, ...state }, null, 2)}\n`
    async function* bytes() {
      yield Buffer.from(text)
    }
    await writeLocalFile(this.path, bytes())
  }

  async remove(): Promise<void> {
    await unlink(this.path).catch(() => {})
  }
}

function parsed(text: string): ImportState | null {
  let state: Partial<ImportState> | null
  try {
    state = JSON.parse(text) as Partial<ImportState> | null
  } catch {
    return null
  }
  const isState =
    state?.format === stateFormat &&
    typeof state.target === 'string' &&
    (state.upload === null || typeof state.upload === 'string') &&
    typeof state.options === 'string' &&
    Array.isArray(state.sources)
  return isState ? (state as ImportState) : null
}

/** Throw `InvalidInput` if the sources or the options differ from those with which an import began. */
export function checkUnchanged(state: ImportState, sources: readonly SourceFile[], options: string): void {
  const before = new Map(state.sources.map(source => [source.path, source]))
  for (const source of sources) {
    const old = before.get(source.path)
    before.delete(source.path)
    if (old?.size === source.size && old.modifiedMs === source.modifiedMs && old.hash === source.hash)
      continue
    const what = old === undefined ? 'is new' : 'has changed'
    throw invalidInput(`${quote(source.path)} ${what} since an earlier run began the import`, {
      hint: restart,
    })
  }
  const [gone] = before.keys()
  if (gone !== undefined) {
    throw invalidInput(`an earlier run of the import also read ${quote(gone)}`, { hint: restart })
  }
  if (state.options !== options) {
    throw invalidInput(`the interrupted import had other options: ${state.options}`, {
      hint: `run it with these options, or ${restart}`,
    })
  }
}
