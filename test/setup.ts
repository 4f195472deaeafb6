/**
 * One seed for every property, so that a run repeats; `SHEAF_SEED` takes another (`npm run test:long` takes many). What a file leaves
 * behind ends with it.
 */
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { stopClocks } from './support/clock.js'

fc.configureGlobal({ seed: Number(process.env.SHEAF_SEED ?? 1) })
afterAll(stopClocks)
