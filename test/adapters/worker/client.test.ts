/** What only an engine behind a real worker shows; that it answers like any other is told by the suite of namespaces. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type * as publicModule from '../../../adapters/worker/public.js'
import { ErrorCode } from '../../../src/errors.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'

const freshRoot = temporaryRoots()
const module = shipped('worker')
const { connectWorker } = (await import(module)) as typeof publicModule

describe('connectWorker', () => {
  test('a write is visible to the next call', async () => {
    const root = freshRoot()
    const writer = await connectWorker(root)
    await writer.createTable('t', [{ a: 1 }, { a: 2 }])
    await writer.close()
    const reader = await connectWorker(root, { readOnly: true })
    const table = await reader.openTable('t')
    expect(await table.countRows()).toBe(2)
    await expect(table.delete('a = 1')).rejects.toMatchObject({ code: ErrorCode.PermissionDenied })
    await reader.close()
  })

  test('a root that cannot be opened gives the same error as in process', async () => {
    const missing = join(freshRoot(), 'missing')
    await expect(connectWorker(missing, { create: false })).rejects.toMatchObject({
      code: ErrorCode.NamespaceNotFound,
    })
    await expect(connectWorker('')).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
  })

  test('opening can be aborted', async () => {
    const reason = new Error('enough')
    await expect(connectWorker(freshRoot(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  test('the worker that may write runs maintenance and verification', async () => {
    const root = freshRoot()
    const writer = await connectWorker(root)
    const table = await writer.createTable('t', [{ a: 1 }])
    for (let a = 2; a < 6; a++) await table.add([{ a }])
    await writer.optimize()
    const phases = new Set<string>()
    const found = await writer.verify({ onProgress: ({ phase }) => phases.add(phase) })
    expect(found).toMatchObject({ ok: true, problems: [], checked: { tables: 1 } })
    expect([...phases]).toContain('tables')
    const given = { signal: AbortSignal.abort(new Error('enough')) }
    await expect(writer.verify(given)).rejects.toThrow('enough')
    await writer.close()
    const reader = await connectWorker(root, { readOnly: true })
    const refused = { code: ErrorCode.PermissionDenied }
    await expect(reader.optimize()).rejects.toMatchObject(refused)
    await expect(reader.verify({ repair: true })).rejects.toMatchObject(refused)
    await reader.close()
  })

  test('a process ends although its worker was never closed', () => {
    const root = freshRoot()
    mkdirSync(root, { recursive: true })
    const script = join(root, 'forgetful.mjs')
    const imported = JSON.stringify(pathToFileURL(module).href)
    writeFileSync(
      script,
      `import { connectWorker } from ${imported}
       const ns = await connectWorker('memory://')
       await ns.createTable('t', [{ a: 1 }])
       console.log((await ns.tableNames()).join())`,
    )
    expect(execFileSync(process.execPath, [script], { encoding: 'utf8', timeout: 20_000 })).toBe('t\n')
  })
})
