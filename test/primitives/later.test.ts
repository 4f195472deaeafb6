import { expect, test } from 'vitest'
import { later, loadAll } from '../../src/primitives/later.js'

test('a module is imported when it is first asked for, and then at once', async () => {
  let imports = 0
  const module = { word: 'here' }
  const asked = later(async () => {
    imports++
    return module
  })
  expect(imports).toBe(0)
  expect(await Promise.all([asked(), asked()])).toEqual([module, module])
  const before = imports
  expect(asked()).toBe(module)
  expect(imports).toBe(before)
})

test('an import that fails is tried again', async () => {
  let fails = true
  const asked = later(async () => {
    if (fails) throw new Error('no such file')
    return { word: 'here' }
  })
  await expect(asked()).rejects.toThrow('no such file')
  fails = false
  expect(await asked()).toEqual({ word: 'here' })
})

test('all are loaded at once, and those that they bring', async () => {
  let inner: (() => unknown) | undefined
  const outer = later(async () => {
    inner = later(async () => ({ word: 'within' }))
    return { word: 'around' }
  })
  await loadAll()
  expect([outer(), inner!()]).toEqual([{ word: 'around' }, { word: 'within' }])
})
