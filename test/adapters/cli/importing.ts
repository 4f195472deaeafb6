/** Runs `sheaf import` in this process, and reads what it imported. */
import { type Call, readArguments } from '../../../adapters/cli/arguments.js'
import { importSources } from '../../../adapters/cli/import.js'
import { connect, type Row } from '../../../src/index.js'

/** Run the command with these arguments. Throws if they are not valid. */
export async function runImport(
  args: readonly string[],
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const command = readArguments(['import', ...args])
  if (command.kind === 'misuse') throw new Error(command.problem)
  await importSources(command as Call<'import'>, signal)
}

export function importing(...args: string[]): Promise<void> {
  return runImport(args)
}

/** Return the rows of a table of a root. */
export async function rowsOf(root: string, name: string): Promise<Row[]> {
  await using ns = await connect(root, { create: false, readOnly: true, int64: 'bigint' })
  return (await (await ns.openTable(name)).query().toArray()) as Row[]
}
