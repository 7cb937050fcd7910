/** A sample of a parsed page. */
export interface ParsedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Trace id of its exemplar. */
  readonly traceId?: string
}

export interface ParsedFamily {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: readonly ParsedSample[]
}

const number = String.raw`[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|Inf)|NaN`
const labelPair = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"`
const labelSet = String.raw`\{(?:${labelPair}(?:,${labelPair})*)?\}`
const line = new RegExp(`^([a-zA-Z_][a-zA-Z0-9_]*)(${labelSet})? (${number})(?: # (${labelSet}) (${number})(?: (${number}))?)?$`)

/**
 * Parses the text format 0.0.4 or OpenMetrics 1.0 strictly, including the checks of `promtool check metrics`. Throws an error that names the
 * line.
 */
export function parseMetrics(body: string, format: 'text' | 'openmetrics'): ReadonlyMap<string, ParsedFamily> {
  const fail = (problem: string, at: string): never => {
    throw new Error(`${problem}: ${at}`)
  }
  if (!body.endsWith('\n')) fail('the last line does not end', body.slice(-80))
  const lines = body.slice(0, -1).split('\n')
  if (format === 'openmetrics' && lines.pop() !== '# EOF') fail('no EOF', body.slice(-80))
  const families = new Map<string, ParsedFamily & { samples: ParsedSample[] }>()
  const seen = new Set<string>()
  let family: (ParsedFamily & { samples: ParsedSample[] }) | undefined
  let help: { readonly name: string; readonly text: string } | undefined
  for (const one of lines) {
    if (one === '') {
      if (format === 'openmetrics') fail('an empty line', one)
      continue
    }
    const [, helpName, helpText] = /^# HELP ([a-zA-Z_][a-zA-Z0-9_]*) (.+)$/.exec(one) ?? []
    if (helpName !== undefined && helpText !== undefined) {
      if (/(^|[^\\])(\\\\)*\\([^\\n]|$)/.test(helpText)) fail('a help with a wrong escape', one)
      help = { name: helpName, text: helpText }
      continue
    }
    const [, typeName, type] = /^# TYPE ([a-zA-Z_][a-zA-Z0-9_]*) (counter|gauge|histogram)$/.exec(one) ?? []
    if (typeName !== undefined && type !== undefined) {
      if (help?.name !== typeName) fail('a type without its help before', one)
      if (families.has(typeName)) fail('a second family of the name', one)
      lint(typeName, type, format, fail)
      family = { name: typeName, type, help: help?.text ?? '', samples: [] }
      families.set(typeName, family)
      continue
    }
    const [, name, labels = '', value = '', exemplarLabels] = line.exec(one) ?? fail('not a line of the format', one)
    if (family === undefined || name === undefined) return fail('a sample before its family', one)
    if (!namesOf(family, format).includes(name)) fail(`a sample of another metric in ${family.name}`, one)
    if (seen.has(name + labels)) fail('a series twice', one)
    seen.add(name + labels)
    if (Number.isNaN(Number(value.replace('Inf', 'Infinity')))) fail('no number', one)
    if (family.type !== 'histogram' && /[{,]le="/.test(labels)) fail('a label that only histograms have', one)
    if (/[{,]quantile="/.test(labels)) fail('a label that only summaries have', one)
    if (exemplarLabels !== undefined && (format === 'text' || !/_(bucket|total)$/.test(name))) fail('an exemplar in the wrong place', one)
    const traceId = /trace_id="([0-9a-f]{32})"/.exec(exemplarLabels ?? '')?.[1]
    family.samples.push({
      name,
      labels: labelsOf(labels),
      value: Number(value.replace('Inf', 'Infinity')),
      ...(traceId === undefined ? {} : { traceId }),
    })
  }
  for (const one of families.values()) if (one.type === 'histogram') checkHistogram(one, fail)
  return families
}

function namesOf({ name, type }: ParsedFamily, format: 'text' | 'openmetrics'): readonly string[] {
  if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`]
  return type === 'counter' && format === 'openmetrics' ? [`${name}_total`] : [name]
}

/** The checks of promtool's linter. */
function lint(name: string, type: string, format: string, fail: (problem: string, at: string) => never): void {
  if (format === 'text' && (type === 'counter') !== name.endsWith('_total')) fail('a counter ends in _total, and nothing else does', name)
  if (/_(bucket|count|sum)$/.test(name)) fail('a reserved ending', name)
  if (/[A-Z]/.test(name)) fail('camel case', name)
  if (/(^|_)(counter|gauge|histogram|summary)(_|$)/.test(name)) fail('the type in the name', name)
  if (/_(milliseconds|ms|minutes|hours|days|kilobytes|kb|megabytes|mb|percent|percentage)(_|$)/.test(name)) fail('not a base unit', name)
}

function labelsOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g)]
  return Object.fromEntries(
    pairs.map(([, name = '', value = '']) => [name, value.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one))]),
  )
}

/** Checks that buckets are cumulative, with one for +Inf that equals the count. */
function checkHistogram({ name, samples }: ParsedFamily, fail: (problem: string, at: string) => never): void {
  const bySeries = new Map<string, ParsedSample[]>()
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels
    const key = JSON.stringify(labels)
    bySeries.set(key, [...(bySeries.get(key) ?? []), sample])
  }
  for (const [key, parts] of bySeries) {
    const buckets = parts.filter((part) => part.name.endsWith('_bucket'))
    const bounds = buckets.map(({ labels }) => Number((labels.le ?? '').replace('Inf', 'Infinity')))
    const rises = buckets.every(
      ({ value }, n) => n === 0 || (value >= (buckets[n - 1]?.value ?? 0) && (bounds[n] ?? 0) > (bounds[n - 1] ?? 0)),
    )
    const count = parts.find((part) => part.name.endsWith('_count'))?.value
    if (!rises || bounds.at(-1) !== Number.POSITIVE_INFINITY || buckets.at(-1)?.value !== count) fail(`buckets of ${name}`, key)
  }
}
