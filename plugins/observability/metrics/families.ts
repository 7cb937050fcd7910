import type { MetricHistogram, MetricSample } from 'zin'
import type { MetricFamily } from '../contract.js'
import { checkSample } from './check-sample.js'

/** What was left out of a collection, and why. */
export interface Refusal {
  readonly plugin: string
  readonly problem: string
}

export interface Collection {
  readonly families: readonly MetricFamily[]
  readonly refusals: readonly Refusal[]
}

interface Growing {
  readonly plugin: string
  readonly head: MetricSample
  readonly labelNames: string
  readonly samples: Map<string, MetricSample>
}

/** Maximum number of samples of one plugin. */
const maxSamples = 200_000

/**
 * Groups the samples of all plugins by metric, sorted by name. Leaves out anything that would make a page invalid: malformed samples, and
 * samples that contradict earlier ones of the same metric.
 */
export function gather(given: ReadonlyMap<string, unknown>): Collection {
  const growing = new Map<string, Growing>()
  const refusals: Refusal[] = []
  for (const [source, samples] of given) {
    // The second listener of a plugin is named `name#2`.
    const plugin = source.replace(/#\d+$/, '')
    if (!Array.isArray(samples)) {
      refusals.push({ plugin, problem: samples instanceof Error ? `it failed: ${samples.message}` : 'it did not return a list' })
      continue
    }
    if (samples.length > maxSamples)
      refusals.push({ plugin, problem: `it returned ${samples.length} samples; only the first ${maxSamples} are used` })
    for (const one of samples.slice(0, maxSamples)) {
      const problem = add(growing, plugin, one)
      if (problem !== undefined) refusals.push({ plugin, problem })
    }
  }
  const families = [...growing.values()]
    .map(({ head: { help, name, type }, samples }) => ({ name, help, type, samples: [...samples.values()] }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  return { families, refusals }
}

/** Adds a sample; returns the problem if it cannot be added. */
function add(growing: Map<string, Growing>, plugin: string, given: unknown): string | undefined {
  const sample = checked(given)
  if ('problem' in sample) return sample.problem
  const { help, labels = {}, name, type } = sample
  const labelNames = Object.keys(labels).sort()
  const known: Growing = growing.get(name) ?? { plugin, head: sample, labelNames: labelNames.join(), samples: new Map() }
  const { head } = known
  const from = known.plugin === plugin ? 'earlier' : `by the plugin "${known.plugin}"`
  if (head.type !== type) return `the ${type} "${name}" was reported ${from} as a ${head.type}`
  if (head.help !== help) return `"${name}" was reported ${from} with a different help`
  if (known.labelNames !== labelNames.join()) {
    return `"${name}" has the labels (${labelNames.join(', ')}), but was reported ${from} with (${known.labelNames.replaceAll(',', ', ')})`
  }
  if (type === 'histogram' && (head as MetricHistogram).bounds.join() !== sample.bounds.join()) {
    return `the histogram "${name}" was reported ${from} with different bounds`
  }
  const key = JSON.stringify(labelNames.map((label) => labels[label]))
  if (known.samples.has(key)) return `"${name}" was reported ${from} with the same labels`
  known.samples.set(key, sample)
  growing.set(name, known)
  return undefined
}

function checked(given: unknown): ReturnType<typeof checkSample> {
  try {
    return checkSample(given)
  } catch {
    return { problem: 'reading a sample throws an error' }
  }
}
