import type { Job } from 'bullmq'
import { countText } from 'zin'
import type { QueueJob, Queues } from 'zin/plugins/queues'
import { withoutPrefix } from '../jobs/details.js'
import type { BulkStep } from './bulk.js'

/** Limits: jobs of a flow that are read, and children per command. */
const mostJobs = 10_000
const pageJobs = 200
/** Limit on the jobs that a dry run names. */
const mostNamed = 1_000

export interface FlowPlan {
  readonly root: Job
  /** Its failed jobs, each after those below it. */
  readonly failed: readonly Job[]
  /** Those of them that cannot be retried, because a child that they need, itself or for a job below them, no longer exists. */
  readonly stuck: ReadonlySet<Job>
  /** False if the flow has more jobs than were read. */
  readonly complete: boolean
}

/** The result of a dry run of a retry of a flow. */
export interface FlowDryRun {
  readonly dryRun: true
  readonly matching: number
  /** Failed jobs that would be skipped, because a child that they need no longer exists. */
  readonly left: number
  /** False if the flow has more than 10,000 jobs; the others were not read. */
  readonly complete: boolean
  /** The first 1,000 as `<queue>:<id>`, in the order in which they are retried: leaves first. */
  readonly jobs: readonly string[]
  readonly message: string
}

/** `<queue>:<id>` of a job. */
export function nameOf({ id = '', queueName }: Pick<Job, 'id' | 'queueName'>): string {
  return `${queueName}:${id}`
}

/** Reads the flow of a job, from its root. */
export async function planFlow(queues: Queues, job: Job): Promise<FlowPlan> {
  const read = (key: string): Promise<QueueJob | undefined> => readKey(queues, job, key)
  let root = job
  while (root.parentKey !== undefined) {
    const parent = await read(root.parentKey)
    if (parent === undefined) break
    root = parent.job
  }
  const failed: Job[] = []
  const stuck = new Set<Job>()
  let left = mostJobs
  /** Returns whether a job whose failure fails another one is missing at or below a job. */
  const visit = async ({ job: one, state }: QueueJob): Promise<boolean> => {
    let misses = false
    for await (const { keys, failing } of childKeys(one)) {
      const seen = keys.slice(0, left)
      left -= keys.length
      for (const child of await Promise.all(seen.map(read))) {
        const isMissing = child === undefined || (await visit(child))
        if (failing && isMissing) misses = true
      }
    }
    if (state === 'failed') failed.push(one)
    if (state === 'failed' && misses) stuck.add(one)
    return misses
  }
  const first = await queues.job(root.queueName, root.id ?? '')
  if (first !== undefined) await visit(first)
  return { root, failed, stuck, complete: left >= 0 }
}

/** Whether a failed job cannot be retried, because a child that it needs, itself or for a job below it, no longer exists. */
export class StuckJobs {
  readonly #queues: Queues
  readonly #known = new Map<string, boolean>()
  /** Jobs that may still be read. */
  #left: number

  constructor(queues: Queues, most: number) {
    this.#queues = queues
    this.#left = most
  }

  /** Whether every job that mattered could be read. */
  get complete(): boolean {
    return this.#left >= 0
  }

  async has(job: Job): Promise<boolean> {
    const name = nameOf(job)
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const found = await this.#misses(job)
    this.#known.set(name, found)
    return found
  }

  async #misses(job: Job): Promise<boolean> {
    for await (const keys of failedKeys(job)) {
      for (const key of keys) {
        if (--this.#left < 0) return false
        const child = await readKey(this.#queues, job, key)
        if (child === undefined || (await this.has(child.job))) return true
      }
    }
    return false
  }
}

function readKey(queues: Queues, near: Job, key: string): Promise<QueueJob | undefined> {
  const short = withoutPrefix(key, near)
  const colon = short.indexOf(':')
  return queues.job(short.slice(0, colon), short.slice(colon + 1))
}

/** The other jobs that retrying a failed job makes wait again: the failed ones below it, and the failed parents above. */
export async function retriedWith(queues: Queues, job: Job): Promise<readonly Job[]> {
  const { failed } = await planFlow(queues, job)
  const byKey = new Map(failed.map((one) => [nameOf(one), one]))
  const found: Job[] = []
  for (let key = job.parentKey; key !== undefined; ) {
    const parent = byKey.get(withoutPrefix(key, job))
    if (parent === undefined) break
    found.push(parent)
    key = parent.parentKey
  }
  const below = (one: Job): boolean => {
    for (let key = one.parentKey; key !== undefined; key = byKey.get(withoutPrefix(key, job))?.parentKey) {
      if (withoutPrefix(key, job) === nameOf(job)) return true
    }
    return false
  }
  return [...found, ...failed.filter(below)]
}

/** Makes the failed jobs of a flow wait again, leaves first. */
export async function retryFlow(queues: Queues, { failed }: FlowPlan, onStep: (step: BulkStep) => Promise<boolean>): Promise<void> {
  // Retrying a job also changes others: each is counted once.
  const done = new Set<string>()
  for (const job of failed) {
    const { jobs = [], refused } = await queues.retry(job.queueName, job.id ?? '')
    const fresh = jobs.map(({ id, queue }) => `${queue}:${id}`).filter((name) => !done.has(name))
    for (const name of fresh) done.add(name)
    const left = refused === undefined || refused === 'changed' ? 0 : 1
    if (!(await onStep({ looked: 1, changed: fresh.length, left }))) return
  }
}

export function flowDryRun({ complete, failed, stuck }: FlowPlan): FlowDryRun {
  const retried = failed.filter((job) => !stuck.has(job))
  const [matching, left] = [retried.length, stuck.size]
  const skipped = left === 0 ? [] : [`${countText(left, 'failed job')} would be skipped: a child that is needed no longer exists`]
  const message = failed.length === 0 ? 'No job of the flow has failed' : `${countText(matching, 'job')} would be retried`
  return {
    dryRun: true,
    matching,
    left,
    complete,
    jobs: retried.slice(0, mostNamed).map(nameOf),
    message: [message, ...skipped].join('. '),
  }
}

/** The keys of all children of a job, in pages; `failing`: of those whose failure fails the job. */
async function* childKeys(job: Job): AsyncGenerator<{ readonly keys: readonly string[]; readonly failing: boolean }, void, undefined> {
  const kinds = ['unprocessed', 'processed', 'ignored'] as const
  for (const kind of kinds) {
    for (let cursor = 0; ; ) {
      const found = await job.getDependencies({ [kind]: { cursor, count: pageJobs } })
      const page = found[kind] ?? []
      yield { keys: [...new Set(Array.isArray(page) ? page : Object.keys(page))], failing: false }
      const { nextIgnoredCursor, nextProcessedCursor, nextUnprocessedCursor } = found
      cursor = Number({ ignored: nextIgnoredCursor, processed: nextProcessedCursor, unprocessed: nextUnprocessedCursor }[kind] ?? 0)
      if (cursor === 0) break
    }
  }
  for await (const keys of failedKeys(job)) yield { keys, failing: true }
}

/** The keys of the children whose failure fails a job, in pages. */
async function* failedKeys(job: Job): AsyncGenerator<readonly string[], void, undefined> {
  // The cursor of failed children is an offset, which does not return to 0.
  for (let cursor = 0; ; cursor += pageJobs) {
    const { failed = [] } = await job.getDependencies({ failed: { cursor, count: pageJobs } })
    yield failed
    if (failed.length < pageJobs) return
  }
}
