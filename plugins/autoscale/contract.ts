import { defineService } from 'zin'

/** The last decision of the autoscaler about a worker. */
export interface ScalingStatus {
  readonly worker: string
  /**
   * Number of workers that the platform should run, which KEDA reads. One worker is as many parallel jobs as the record's `concurrency`. It
   * does not fall while a job runs that could outlast the end of its process, or while it is not known what runs.
   */
  readonly desired: number
  /** Number of workers that the load needs; the concurrency of the processes is set to it, and running jobs continue when it falls. */
  readonly target: number
  /** Current capacity, in workers. */
  readonly current: number
  readonly reason: string
  /** Jobs that are ready to run. */
  readonly backlog: number
  /** Jobs that run; null if they could not be read. */
  readonly running: number | null
  /** How long the oldest of these jobs has waited; 0 if none waits. */
  readonly queueAgeSeconds: number
  /** Whether decisions are only recorded. */
  readonly dryRun: boolean
  /** Id of the last decision that changed the worker, or would have in a dry run; null if there is none yet. */
  readonly decisionId: string | null
  /** ISO 8601. */
  readonly at: string
}

/**
 * The desired number of workers, with reasons.
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
  /** Returns the statuses of recently evaluated workers. */
  list(): Promise<readonly ScalingStatus[]>
  /** Returns the status of a worker; before its first evaluation, the current capacity. 404 WORKER_NOT_FOUND, 409 AUTO_SCALING_OFF. */
  get(worker: string): Promise<ScalingStatus>
}

export const autoscaleService = defineService<Autoscale>('autoscale')
