import { test } from 'vitest'
import { runSeeds, seedsPerRun } from './seeds.js'

test(`${seedsPerRun / 2} worlds of processes that fail keep every promise`, () => runSeeds(0, 2), 600_000)
