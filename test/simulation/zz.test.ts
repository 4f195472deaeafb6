import { test } from 'vitest'
import { simulate } from './simulate.js'
test('some', async () => {
  const from = Number(process.env.FROM ?? 0), to = Number(process.env.TO ?? 600)
  const failed: string[] = []
  for (let seed = from; seed < to && failed.length < 8; seed++) {
    await simulate(seed).catch(e => failed.push(`${seed}: ${String(e.message).slice(0, 400)} ${process.env.STACK ? e.cause?.stack : ''}`))
  }
  if (failed.length) throw new Error(failed.join('\n'))
}, 600_000)
