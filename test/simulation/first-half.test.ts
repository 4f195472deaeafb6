import { test } from 'vitest'
import { runSeeds, seedsPerRun } from './seeds.js'

test(`${seedsPerRun / 2} worlds of failing processes keep every guarantee`, () => runSeeds(0, 2), 600_000)
