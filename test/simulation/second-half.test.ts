import { test } from 'vitest'
import { runSeeds, seedsPerRun } from './seeds.js'

test(
  `${seedsPerRun / 2} more worlds of failing processes keep every guarantee`,
  () => runSeeds(1, 2),
  600_000,
)
