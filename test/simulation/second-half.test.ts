import { test } from 'vitest'
import { runSeeds, seedsPerRun } from './seeds.js'

test(
  `${seedsPerRun / 2} more worlds of processes that fail keep every promise`,
  () => runSeeds(1, 2),
  600_000,
)
