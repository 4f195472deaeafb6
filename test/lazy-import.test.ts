import { expect, test } from 'vitest'
import { ErrorCode } from '../src/errors.js'
import { lazyImport, loadAll } from '../src/lazy-import.js'

test('a module is imported at its first use, and is available at once after that', async () => {
  let imports = 0
  const module = { word: 'here' }
  const asked = lazyImport(async () => {
    imports++
    return module
  })
  expect(imports).toBe(0)
  expect(await Promise.all([asked(), asked()])).toEqual([module, module])
  const before = imports
  expect(asked()).toBe(module)
  expect(imports).toBe(before)
})

test('a failed import says what to do, and is tried again', async () => {
  let fails = true
  const asked = lazyImport(async () => {
    if (fails) throw new Error('no such file')
    return { word: 'here' }
  })
  await expect(asked()).rejects.toMatchObject({
    code: ErrorCode.ServiceUnavailable,
    hint: 'restart the process',
    cause: { message: 'no such file' },
  })
  fails = false
  expect(await asked()).toEqual({ word: 'here' })
})

test('all modules are loaded at once, with the modules they import', async () => {
  let inner: (() => unknown) | undefined
  const outer = lazyImport(async () => {
    inner = lazyImport(async () => ({ word: 'within' }))
    return { word: 'around' }
  })
  await loadAll()
  expect([outer(), inner!()]).toEqual([{ word: 'around' }, { word: 'within' }])
})

test('a module that was set is not imported', () => {
  const asked = lazyImport<{ readonly word: string }>(() => Promise.reject(new Error('imported')))
  asked.set({ word: 'set' })
  expect(asked()).toEqual({ word: 'set' })
})
