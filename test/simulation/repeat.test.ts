import { expect, test } from 'vitest'
import { simulate } from './simulate.js'

test('a seed fixes a history to the last line', async () => {
  const story = async (seed: number): Promise<readonly string[]> => {
    const lines: string[] = []
    await simulate(seed, { tell: line => lines.push(line) }).catch(error => lines.push(String(error)))
    return lines
  }
  for (let seed = 0; seed < 50; seed++) expect(await story(seed), `seed ${seed}`).toEqual(await story(seed))
})
