import { defineService } from 'zin'

/** What the autoscaler decided about a worker last. */
export interface ScalingStatus {
  readonly worker: string
  /** Workers that should run: what KEDA reads. One worker is as many parallel jobs as the record's `concurrency` says. */
  readonly desired: number
  /** Workers' worth of parallel jobs that may run now. */
  readonly current: number
  readonly reason: string
  /** Jobs that are ready to run. */
  readonly backlog: number
  /** How long the oldest of them has waited; 0 when none waits. */
  readonly queueAgeSeconds: number
  /** Whether nothing is changed. */
  readonly dryRun: boolean
  /** The last decision that changed it, or would have; null: none yet. */
  readonly decisionId: string | null
  /** ISO 8601. */
  readonly at: string
}

/**
 * How many workers should run, and why.
 *
 * @example
 * import { definePlugin } from 'zin'
 * import { autoscaleService } from 'zin/plugins/autoscale'
 *
 * export const capacity = definePlugin({
 *   name: 'capacity',
 *   version: '1.0.0',
 *   uses: { autoscale: autoscaleService },
 *   setup: ({ route, services }) =>
 *     route({
 *       method: 'GET',
 *       path: '/api/capacity',
 *       summary: 'Workers that are missing',
 *       use: ['ops'],
 *       handler: async () => {
 *         const all = await services.autoscale.list()
 *         return { missing: all.reduce((sum, { current, desired }) => sum + Math.max(0, desired - current), 0) }
 *       },
 *     }),
 * })
 */
export interface Autoscale {
  /** WORKER_AUTO_SCALING_ENABLED. */
  readonly enabled: boolean
  /** WORKER_AUTO_SCALING_DRY_RUN. */
  readonly dryRun: boolean
  /** The workers that were evaluated lately, by name. */
  list(): Promise<readonly ScalingStatus[]>
  /** One that has not been evaluated yet shows what it has. 404 WORKER_NOT_FOUND, 409 AUTO_SCALING_OFF. */
  get(worker: string): Promise<ScalingStatus>
}

export const autoscaleService = defineService<Autoscale>('autoscale')
