import { expect, test } from 'vitest'
import { ProgressMeter } from '../../src/jobs/progress-meter.js'
import { systemClock } from '../../src/primitives/clock.js'

test('a meter reports the rate of a phase from its second second on, and the remaining time', () => {
  let now = 5000
  const meter = new ProgressMeter({ ...systemClock, elapsed: () => now })
  expect(meter.progress(10, 100, 'reading')).toEqual({ done: 10, total: 100, phase: 'reading' })
  now += 500
  expect(meter.progress(20, 100, 'reading')).toEqual({ done: 20, total: 100, phase: 'reading' })
  now += 1500
  expect(meter.progress(50, 100, 'reading')).toMatchObject({ perSecond: 20, secondsLeft: 2.5 })
  // Another phase, and the same one of another segment, begin anew.
  expect(meter.progress(0, 100, 'building')).toEqual({ done: 0, total: 100, phase: 'building' })
  now += 2000
  expect(meter.progress(100, 100, 'building')).toMatchObject({ perSecond: 50, secondsLeft: 0 })
  expect(meter.progress(0, 100, 'reading')).not.toHaveProperty('perSecond')
  now += 2000
  expect(meter.progress(0, 100, 'reading')).not.toHaveProperty('perSecond')
  expect(meter.progress(1, 0, 'reading')).toMatchObject({ secondsLeft: 0 })
})
