import { type Problem, problem } from './problem.js'
import type { FeatureName } from './record.js'

/** The plugin that makes a feature act. */
const owners: Readonly<Record<FeatureName, string>> = {
  metrics: 'workers',
  versioning: 'workers',
  deadLetterQueue: 'workers',
  clustering: 'workers',
  plugins: 'workers',
  healthMonitoring: 'worker-health',
  resourceMonitoring: 'resources',
  observability: 'observability',
  autoScaling: 'autoscale',
  datacenter: 'autoscale',
  circuitBreaker: 'breaker',
  canary: 'canary',
  compliance: 'compliance',
}

/** Those that this plugin acts on by itself. */
const own: readonly FeatureName[] = ['metrics', 'versioning', 'deadLetterQueue', 'clustering']

/** Which features act in this app: a worker that asks for another one is refused. */
export class FeatureOwners {
  readonly #acting = new Set<FeatureName>(own)

  /** Called by the plugin that owns a feature. Returns what takes it back. */
  offer(feature: FeatureName): () => void {
    this.#acting.add(feature)
    return () => void this.#acting.delete(feature)
  }

  /** For valid features, those that are true and do not act. */
  problems(features: Readonly<Partial<Record<FeatureName, boolean>>> = {}): readonly Problem[] {
    const missing = (Object.keys(features) as FeatureName[]).filter((feature) => features[feature] === true && !this.#acting.has(feature))
    return missing.map((feature) => problem(`features.${feature}`, 'FEATURE_UNAVAILABLE', `"features.${feature}" ${whyNot(feature)}`))
  }
}

function whyNot(feature: FeatureName): string {
  return owners[feature] === 'workers'
    ? 'cannot be true yet: no plugin can wrap the attempts of a worker'
    : `cannot be true: the plugin "${owners[feature]}", which acts on it, is not enabled in this app`
}
