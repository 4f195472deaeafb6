/** Databases on a disk that ignores case or Unicode forms. Symbolic links that no listing shows stand for the other spellings. */
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { databases } from '../../../adapters/http/databases.js'
import { ErrorCode } from '../../../src/errors.js'

vi.mock('node:fs', async importOriginal => {
  const fs = await importOriginal<typeof import('node:fs')>()
  const opendirSync = (...args: Parameters<typeof fs.opendirSync>) => {
    const listing = fs.opendirSync(...args)
    const next = listing.readSync.bind(listing)
    listing.readSync = () => {
      for (;;) {
        const entry = next()
        if (!entry?.isSymbolicLink()) return entry
      }
    }
    return listing
  }
  return { ...fs, opendirSync }
})

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sheaf-folding-'))
})
afterEach(() => {
  rmSync(root, { recursive: true })
})

const nfc = 'caf\u00e9'
const nfd = nfc.normalize('NFD')

// Windows lets only administrators make symbolic links.
test.skipIf(process.platform === 'win32').each([
  ['acme', 'Acme', ['Acme', 'aCME', 'ACME']],
  [nfc, nfd, [nfd]],
  ['longer name', 'LONGER~1', ['LONGER~1']],
])('%j is not opened by the name %j', async (name, other, spellings) => {
  const first = databases(root, { create: true })
  await first.use(name, async namespace => namespace.createNamespace({ id: ['mine'] }))
  for (const spelling of spellings) symlinkSync(join(root, name), join(root, spelling))
  const refused = (message: string) => ({ code: ErrorCode.InvalidInput, message })
  const all = databases(root)
  await expect(all.use(other, async () => {})).rejects.toMatchObject(
    refused(`there is no database ${JSON.stringify(other)}`),
  )
  await expect(first.use(`${other}/below`, async () => {})).rejects.toMatchObject({
    code: ErrorCode.InvalidInput,
    message: expect.stringContaining('the disk does not distinguish its name'),
    hint: expect.stringContaining('choose a name that differs'),
  })
  expect(existsSync(join(root, name, 'below'))).toBe(false)
  const { namespaces } = await all.use(name, namespace => namespace.listNamespaces({ id: [] }))
  expect(namespaces).toEqual(['mine'])
  await first.close()
  await all.close()
})
