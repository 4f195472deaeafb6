import { expect, test } from 'vitest'
import { SheafError } from '../../src/errors.js'
import { openKernel } from '../../src/kernels/kernel.js'

test('a fault inside the kernel is a SheafError that says where, and the kernel goes on', () => {
  const { kernel, buffer } = openKernel(100_000)!
  expect(buffer.byteLength).toBe(131_072)
  try {
    kernel.measureRange(0, 0, 1_000_000, 1, 128, 0, 0, 0)
    expect.unreachable()
  } catch (error) {
    expect(error).toBeInstanceOf(SheafError)
    expect((error as SheafError).code).toBe(18)
    expect((error as SheafError).message).toMatch(/measureRange\(0, 0, 1000000, /)
    expect((error as SheafError).cause).toMatchObject({ name: 'RuntimeError' })
  }
  new Uint32Array(buffer, 0, 3).set([1, 2, 4])
  expect(kernel.sumWords(64)).toBe(7)
})
