/** Draws line charts, for light and for dark pages. */
import * as echarts from 'echarts'
import { engineOf } from './packages.mjs'

/** The colours of Sheaf and of the other engines. An engine has the same colour in all charts. */
const colours = {
  light: {
    text: '#24292f',
    faint: '#d8dee4',
    sheaf: '#0b62d6',
    others: [
      '#d9480f',
      '#2b8a3e',
      '#9c36b5',
      '#c2255c',
      '#0c8599',
      '#a17500',
      '#6741d9',
      '#5c6770',
      '#364fc7',
    ],
  },
  dark: {
    text: '#d7dde4',
    faint: '#39424d',
    sheaf: '#6cb2ff',
    others: [
      '#ff922b',
      '#69db7c',
      '#e599f7',
      '#ff8fa8',
      '#66d9e8',
      '#ffd43b',
      '#b197fc',
      '#a5b1bd',
      '#91a7ff',
    ],
  },
}
const known = [
  'lancedb',
  'sqlite',
  'duckdb',
  'usearch',
  'hnswlib',
  'sqlite-vec',
  'minisearch',
  'flexsearch',
  'orama',
]

function colourOf(name, { sheaf, others, text }) {
  const engine = engineOf(name)
  if (engine === 'sheaf') return sheaf
  const at = known.indexOf(engine)
  return at < 0 ? text : others[at]
}

/** Maximum number of points of a line with marks at its points. */
const mostMarked = 12

/** Return the chart as SVG, without a background. `theme`: `light` or `dark`. */
export function drawn({ x, y, lines }, theme) {
  const palette = colours[theme]
  const points = lines.flatMap(line => line.points)
  const isPlaced = ([a, b]) => (!x.logarithmic || a > 0) && (!y.logarithmic || b > 0)
  const axis = ({ name, logarithmic = false }, values) => ({
    type: logarithmic ? 'log' : 'value',
    name,
    nameLocation: 'middle',
    nameTextStyle: { color: palette.text },
    axisLabel: {
      color: palette.text,
      hideOverlap: true,
      formatter: value => String(Number(value.toPrecision(3))),
    },
    axisLine: { show: true, lineStyle: { color: palette.faint } },
    splitLine: { lineStyle: { color: palette.faint } },
    scale: true,
    ...(!logarithmic &&
      Math.max(...values) <= 1 && { min: Math.floor(20 * Math.min(...values)) / 20, max: 1 }),
  })
  // Draw the second line of an engine dashed, because it has the same colour.
  const engines = lines.map(({ name }) => engineOf(name))
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 720, height: 420 })
  try {
    chart.setOption({
      animation: false,
      textStyle: { fontFamily: 'system-ui, sans-serif', color: palette.text },
      // Leave more space between names, because echarts underestimates their width without a page.
      legend: { bottom: 0, itemGap: 28, textStyle: { color: palette.text } },
      grid: { left: 68, right: 24, top: 16, bottom: 42 + 26 * Math.ceil(lines.length / 4) },
      xAxis: {
        ...axis(
          x,
          points.map(([a]) => a),
        ),
        nameGap: 26,
      },
      yAxis: {
        ...axis(
          y,
          points.map(([, b]) => b),
        ),
        nameGap: 50,
      },
      series: lines.map(({ name, points }, i) => ({
        name,
        type: 'line',
        symbol: 'circle',
        symbolSize: 5,
        showSymbol: points.length <= mostMarked,
        color: colourOf(name, palette),
        lineStyle: {
          width: engines[i] === 'sheaf' ? 3 : 1.8,
          type: engines.indexOf(engines[i]) < i ? 'dashed' : 'solid',
        },
        data: points.filter(isPlaced),
      })),
    })
    // Remove attributes that only a script in the page would use.
    return renumbered(chart.renderToSVGString().replace(/ ecmeta_\w+="[^"]*"/g, ''))
  } finally {
    // Dispose the chart. Otherwise its timer keeps the process alive.
    chart.dispose()
  }
}

/**
 * Number the names in a chart from 0. echarts numbers them by the charts that it has drawn before, so the files would
 * change without a reason.
 */
function renumbered(svg) {
  const names = new Map()
  return svg.replace(/\bzr\d+-(cls-|c)\d+/g, (name, kind) => {
    if (!names.has(name)) names.set(name, `${kind}${names.size}`)
    return names.get(name)
  })
}
