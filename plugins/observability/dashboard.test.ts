import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { alertQueries, dashboard, type Panel } from './testing/queries.js'

const { panels, templating } = dashboard()
const charts = panels.filter(({ type }) => type !== 'row')

describe('the dashboard', () => {
  it('has panels with a title, a unit and a legend, that do not overlap', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
    for (const { fieldConfig, targets = [], title } of charts) {
      assert.ok(title !== '' && fieldConfig?.defaults.unit && targets.length > 0, title)
      assert.ok(new Set(targets.map(({ legendFormat }) => legendFormat || '(none)')).size === targets.length, title)
      assert.deepEqual(
        targets.map(({ refId }) => refId),
        ['A', 'B', 'C'].slice(0, targets.length),
        title,
      )
    }
    const cells = panels.flatMap(cellsOf)
    assert.equal(new Set(cells).size, cells.length)
    assert.ok(panels.every(({ gridPos: { w, x } }) => x + w <= 24))
  })

  it('uses the variables that it defines, and those of Grafana', () => {
    const used = [...JSON.stringify({ panels, templating }).matchAll(/\$\{?(\w+)\}?/g)].map(([, name = '']) => name)
    const defined = templating.list.map(({ name }) => name)
    assert.deepEqual([...new Set(used)].sort(), ['__all', '__rate_interval', ...defined].sort())
  })

  it('draws a line where an alert begins', () => {
    const lines = charts.flatMap(({ fieldConfig, targets = [] }) =>
      (fieldConfig?.defaults.thresholds?.steps ?? []).flatMap(({ value }) =>
        value === null ? [] : [{ value, expr: targets[0]?.expr ?? '' }],
      ),
    )
    assert.equal(lines.length, 3)
    for (const { expr, value } of lines) {
      const [metric = ''] = /(?:zin|nodejs)_\w+/.exec(expr) ?? []
      const begins = alertQueries().filter((alert) => alert.expr.includes(metric) && new RegExp(`> ${value}(?![.\\d])`).test(alert.expr))
      assert.equal(begins.length, 1, `${metric} ${value}`)
    }
  })
})

function cellsOf({ gridPos: { h, w, x, y } }: Panel): readonly string[] {
  return Array.from({ length: h * w }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`)
}
