/**
 * Copies the chart of the README to docs/images. It shows recall and queries per second of the newest run of
 * `compare-ann`. Run the script in the root of the repository after `npm run bench:compare -- ann`, which draws the
 * charts of all stored runs:
 *
 *     node dist/scripts/readme-chart.js
 */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const themes = ['light', 'dark'] as const

/** Return the paths of the chart in docs/images and of its source in bench/results. */
export function readmeChart(theme: (typeof themes)[number]): {
  readonly image: string
  readonly source: string
} {
  const lines = readFileSync('bench/results/compare-ann.jsonl', 'utf8').trimEnd().split('\n')
  const times = lines.map(line => (JSON.parse(line) as { readonly startedAt: string }).startedAt)
  const newest = times.sort().at(-1)!
  const stamp = newest.slice(0, 19).replaceAll(/[-:]/g, '')
  return {
    image: `docs/images/recall-${theme}.svg`,
    source: `bench/results/charts/compare-ann-${stamp}-0-${theme}.svg`,
  }
}

if (resolve(process.argv[1]!) === fileURLToPath(import.meta.url)) {
  mkdirSync('docs/images', { recursive: true })
  for (const theme of themes) {
    const { image, source } = readmeChart(theme)
    copyFileSync(source, image)
  }
}
