import { readFileSync } from 'node:fs'
import type { ParsedFamily } from './parse-metrics.js'

/** A PromQL query of the dashboard or of an alert rule. */
export interface Query {
  /** Title of the panel, or name of the variable or alert. */
  readonly of: string
  readonly expr: string
  /** Labels in the legend, or in the text of the alert. */
  readonly shown: readonly string[]
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string; readonly thresholds?: { readonly steps: readonly Step[] } } }
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[]
}

interface Step {
  readonly value: number | null
}

interface Variable {
  readonly name: string
  readonly type: string
  readonly query: { readonly query: string }
}

export interface Dashboard {
  readonly templating: { readonly list: readonly Variable[] }
  readonly panels: readonly Panel[]
}

export const folder = new URL('../', import.meta.url)

const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8')

export function dashboard(): Dashboard {
  return JSON.parse(read('grafana/dashboard.json')) as Dashboard
}

export function panelQueries(): readonly Query[] {
  return dashboard().panels.flatMap(({ targets = [], title }) =>
    targets.map(({ expr, legendFormat }) => ({ of: title, expr, shown: namesIn(legendFormat, /\{\{(\w+)\}\}/g) })),
  )
}

export function variableQueries(): readonly Query[] {
  return dashboard().templating.list.flatMap(({ name, query, type }) => {
    const [, expr = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(query.query ?? '') ?? []
    return type === 'query' ? [{ of: name, expr, shown: [label] }] : []
  })
}

export function alertQueries(): readonly Query[] {
  const [, ...rules] = read('prometheus/alerts.yml').split('- alert: ')
  return rules.map((rule) => {
    const [, lines, line] = /^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.+)\n)/m.exec(rule) ?? []
    return { of: rule.slice(0, rule.indexOf('\n')), expr: lines ?? line ?? '', shown: namesIn(rule, /\$labels\.(\w+)/g) }
  })
}

type Values = Readonly<Record<string, readonly string[]>>

/** What queries can use: label values by metric and label. */
export type KnownSeries = ReadonlyMap<string, Values>

/**
 * The series of a page, and those that Prometheus adds.
 *
 * @param possible further label values of a metric.
 */
export function knownSeries(families: ReadonlyMap<string, ParsedFamily>, possible: Readonly<Record<string, Values>>): KnownSeries {
  const target = { job: namesIn(read('prometheus/prometheus.yml'), /job_name: (\w+)/g), instance: [] }
  const known = new Map<string, Values>([
    ['up', target],
    ['ALERTS', { ...target, alertname: [], severity: [], alertstate: ['pending', 'firing'] }],
  ])
  for (const { name, samples, type } of families.values()) {
    for (const sample of samples) {
      const values = { ...target, ...known.get(sample.name) } as Record<string, readonly string[]>
      for (const [label, value] of Object.entries(sample.labels)) {
        const more = possible[name]?.[label] ?? []
        values[label] = [...new Set([...(values[label] ?? more), value])]
      }
      known.set(type === 'histogram' ? sample.name : name, values)
    }
  }
  return known
}

/** The names in a query that do not exist: metrics, labels, label values, labels that are grouped by or shown. */
export function unknownNames({ expr, of, shown }: Query, known: KnownSeries): readonly string[] {
  const all = selectorsIn(expr)
  const groups = [...expr.matchAll(/\b(by|on) \(([^)]*)\)/g)].map(([, kind, list = '']) => ({ kind, labels: list.split(', ') }))
  const kept = groups.find(({ kind }) => kind === 'by')?.labels
  const problems = all.flatMap(({ matchers, metric }) => {
    const values = known.get(metric)
    if (values === undefined) return [`the metric ${metric}`]
    const labels = [...groups.flatMap((group) => group.labels), ...(kept === undefined ? shown : [])]
    return [
      ...[...matchers.map(({ label }) => label), ...labels].filter((label) => !(label in values)).map((label) => `${metric}{${label}}`),
      ...matchers.filter((matcher) => !isPossible(matcher, values)).map(({ label, value }) => `${metric}{${label}="${value}"}`),
    ]
  })
  const lost =
    kept === undefined ? [] : shown.filter((label) => !kept.includes(label)).map((label) => `the label ${label}, which is not kept`)
  return [...(all.length === 0 ? ['no metric'] : problems), ...lost].map((problem) => `${of}: ${problem}`)
}

/** The metrics that a query of the dashboard does not filter by its variables. */
export function unfiltered({ expr, of }: Query, known: KnownSeries): readonly string[] {
  return selectorsIn(expr).flatMap(({ matchers, metric }) => {
    const filters = { job: '$job', ...('worker' in (known.get(metric) ?? {}) ? { worker: '$worker' } : {}) }
    const missing = Object.entries(filters).filter(
      ([name, wanted]) => !matchers.some(({ label, value }) => label === name && value === wanted),
    )
    return missing.map(([label]) => `${of}: ${metric} by ${label}`)
  })
}

interface Matcher {
  readonly label: string
  readonly operator: string
  readonly value: string
}

function selectorsIn(expr: string): readonly { readonly metric: string; readonly matchers: readonly Matcher[] }[] {
  const bare = expr.replace(/\b(?:by|on) \([^)]*\)|\[(?:\d+[mhd]|\$\w+)\]/g, '')
  return [...bare.matchAll(/\b([a-zA-Z_]\w*)\b(?!\s*\()(?:\{([^}]*)\})?/g)].flatMap(([, metric = '', list = '']) => {
    const matchers = [...list.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => ({
      label,
      operator,
      value,
    }))
    return metric === 'and' ? [] : [{ metric, matchers }]
  })
}

/** Whether a matcher can match a series, or exclude one. */
function isPossible({ label, operator, value }: Matcher, values: Values): boolean {
  const found = values[label]
  if (found === undefined || value.startsWith('$')) return true
  if (!operator.includes('~')) return found.includes(value)
  return value.split('|').every((part) => found.some((one) => new RegExp(`^(?:${part})$`).test(one)))
}

function namesIn(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name)
}
