/** One seed for every property, so that a run repeats; `SHEAF_SEED` takes another (`npm run test:long` takes many). */
import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env.SHEAF_SEED ?? 1) })
