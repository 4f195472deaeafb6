/** Fresh directories for tests, taken away at the end of the file that asked for them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** Call at the top of a test file; each call of what it gives makes one more directory. */
export function temporaryRoots(): () => string {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-test-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let count = 0
  return () => join(folder, `root-${count++}`)
}
