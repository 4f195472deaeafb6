import { expect, test } from 'vitest'
import { cosineDistance, holdsBytes } from '../../src/kernels/metric.js'

test('a query holds bytes when every element is an integer of 0..255', () => {
  expect(holdsBytes(Float32Array.of(0, 1, 254, 255, -0))).toBe(true)
  expect(holdsBytes(new Float32Array(0))).toBe(true)
  for (const other of [-1, 256, 0.5, 254.99, 1e10]) expect(holdsBytes(Float32Array.of(1, other))).toBe(false)
})

test('A-045 cosine distance stays within 0..2 when rounding pushes the cosine past 1', () => {
  expect(cosineDistance(1 + 1e-7, 1, 1)).toBe(0)
  expect(cosineDistance(-1 - 1e-7, 1, 1)).toBe(2)
  expect(cosineDistance(0.25, 1, 1)).toBe(0.75)
})

test('cosine distance is 1 where a norm vanished or overflowed', () => {
  expect(cosineDistance(0, 0, 4)).toBe(1)
  expect(cosineDistance(1e-45, 0, 1e-45)).toBe(1)
  expect(cosineDistance(1e38, Infinity, 1)).toBe(1)
  expect(cosineDistance(Infinity, Infinity, 1)).toBe(1)
})
