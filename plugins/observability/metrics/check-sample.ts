import type { MetricHistogram, MetricSample } from 'zin'

const metricName = /^[a-zA-Z_][a-zA-Z0-9_]{0,199}$/
const labelName = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]{0,99}$/
const traceId = /^[0-9a-f]{32}$/
/** Suffixes that the text formats use for the parts of a histogram and the creation time of a counter. */
const reserved = /_(bucket|count|sum|created)$/
const maxLabels = 20
const maxBounds = 200
/** Maximum length of a label value, in characters. */
const maxValue = 200

/** Returns a valid sample, or the reason why it is invalid. Samples of plugins are not trusted to match their type. */
export function checkSample(given: unknown): MetricSample | { readonly problem: string } {
  if (typeof given !== 'object' || given === null) return { problem: 'a sample is not an object' }
  const { help, labels = {}, name, type } = given as MetricSample
  if (typeof name !== 'string' || !metricName.test(name)) {
    return { problem: `the name ${shown(name)} is not 1 to 200 letters, digits and "_"` }
  }
  const of = `"${name}"`
  if (typeof help !== 'string' || help.trim() === '') return { problem: `${of} has no help` }
  if (type !== 'counter' && type !== 'gauge' && type !== 'histogram') return { problem: `${of} has the type ${shown(type)}` }
  if (type === 'counter' && !name.endsWith('_total')) return { problem: `the counter ${of} does not end in "_total"` }
  if (type !== 'counter' && name.endsWith('_total')) return { problem: `the ${type} ${of} ends in "_total", as only counters do` }
  if (reserved.test(name))
    return { problem: `${of} ends in "${reserved.exec(name)?.[0]}", which is reserved for the parts of a histogram or counter` }
  if (typeof labels !== 'object' || labels === null) return { problem: `the labels of ${of} are not an object` }
  const pairs = Object.entries(labels as Record<string, unknown>)
  if (pairs.length > maxLabels) return { problem: `${of} has ${pairs.length} labels; the maximum is ${maxLabels}` }
  for (const [label, value] of pairs) {
    if (!labelName.test(label)) return { problem: `the label ${shown(label)} of ${of} is not made of letters, digits and "_"` }
    if (label === 'le') return { problem: `${of} has a label "le", which is reserved for the buckets of histograms` }
    if (label === 'quantile') return { problem: `${of} has a label "quantile", which is reserved for summaries` }
    if (typeof value !== 'string') return { problem: `the label "${label}" of ${of} is ${shown(value)}, not a string` }
  }
  const head = { name, help, labels: Object.fromEntries(pairs.map(([label, value]) => [label, wellFormed(value as string)])) }
  if (type === 'histogram') return checkHistogram(given as MetricHistogram, head)
  const { value } = given as { readonly value: unknown }
  if (typeof value !== 'number' || !Number.isFinite(value)) return { problem: `the value of ${of} is ${shown(value)}` }
  if (type === 'counter' && value < 0) return { problem: `the counter ${of} is below 0` }
  return { ...head, type, value }
}

function checkHistogram(
  { bounds, counts, exemplars = [], sum }: MetricHistogram,
  head: Pick<MetricHistogram, 'name' | 'help' | 'labels'>,
): MetricHistogram | { readonly problem: string } {
  const of = `the histogram "${head.name}"`
  const rises =
    Array.isArray(bounds) && bounds.every((bound, n) => Number.isFinite(bound) && (n === 0 || bound > (bounds[n - 1] as number)))
  if (!rises || bounds.length === 0 || bounds.length > maxBounds)
    return { problem: `the bounds of ${of} are not 1 to ${maxBounds} rising numbers` }
  if (!Array.isArray(counts) || counts.length !== bounds.length + 1)
    return { problem: `${of} does not have exactly one more count than bounds` }
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0))
    return { problem: `a count of ${of} is not a non-negative integer` }
  if (typeof sum !== 'number' || !Number.isFinite(sum)) return { problem: `the sum of ${of} is ${shown(sum)}` }
  const kept = Array.isArray(exemplars) ? exemplars.map((one, n) => (isExemplar(one, bounds, n) ? one : undefined)) : []
  return { ...head, type: 'histogram', bounds: [...bounds], counts: [...counts], sum, exemplars: kept }
}

/** Whether an exemplar is well-formed and its value lies in its bucket; others are left out. */
function isExemplar(given: unknown, bounds: readonly number[], bucket: number): boolean {
  if (typeof given !== 'object' || given === null) return false
  const { at, traceId: id, value } = given as { readonly at: unknown; readonly traceId: unknown; readonly value: unknown }
  const isIn =
    typeof value === 'number' && value <= (bounds[bucket] ?? Number.MAX_VALUE) && value > (bounds[bucket - 1] ?? -Number.MAX_VALUE)
  return isIn && typeof id === 'string' && traceId.test(id) && typeof at === 'number' && Number.isFinite(at)
}

/** Makes a label value valid UTF-8 and cuts it to the maximum length. */
function wellFormed(text: string): string {
  const cut = text.length > maxValue ? text.slice(0, maxValue) : text
  return Buffer.from(cut, 'utf8').toString('utf8')
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value).slice(0, 60)
}
