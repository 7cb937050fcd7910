import { randomUUID } from 'node:crypto'
import type { FlowJob, FlowProducer, Job, Queue } from 'bullmq'
import { type Ask, repeatAdding, repeatable } from './ask.js'
import type { QueueBackend } from './backend.js'
import type { AddedJob, JobOptions, JobTemplate, NewJob, Queues } from './contract.js'
import { replacesData, scheduleDeduplicationFault, withDeduplication } from './deduplication.js'
import { queueErrors } from './errors.js'
import type { JobAddition } from './hooks.js'
import { checkJob, isStorableText } from './job-check.js'
import type { Payloads } from './payloads.js'
import { defaultRetention, withRetention } from './retention.js'
import type { PlannedTemplate, Planning } from './schedules/planning.js'
import type { ScheduleTiming } from './schedules/timing.js'
import type { Search } from './search/service.js'

export interface AddingParts {
  readonly payloads: Payloads
  readonly maxJobBytes: number
  readonly search: Search
  readonly planning: Planning
  readonly queue: (name: string) => Queue
  readonly flow: () => FlowProducer
  readonly store: () => QueueBackend
  /** Makes an id that is unique over all queues. */
  readonly newId: () => string
  readonly ask: Ask
}

/** The key in the options of a job whose id was chosen by its producer, by which the producer recognizes the job that it added. */
export const additionKey = 'addition'

/** Adds jobs: checks them, passes their data through the hooks, adapts their retention to the store, and indexes their searchable fields. */
export function createAdding(parts: AddingParts): Pick<Queues, 'add' | 'addBulk' | 'addFlow' | 'schedule' | 'isScheduled'> {
  const { ask, flow, maxJobBytes, newId, payloads, planning, queue, search, store } = parts
  const keep: QueueBackend['keep'] = (wanted) => store().keep(wanted)

  const stored = async (queueName: string, { name, data, options = {} }: NewJob) => {
    checkJob(queueName, name, data, options, maxJobBytes)
    const transformed = payloads.transformsData ? await payloads.transformData(queueName, data) : data
    return { name, data: transformed, opts: withRetention(withDeduplication(options), keep) }
  }

  /** Jobs after `beforeJobsAdd`, in stored form. */
  const prepared = async (queueName: string, jobs: readonly NewJob[], addition: JobAddition = {}) =>
    Promise.all((await payloads.prepare(queueName, jobs, addition)).map((job) => stored(queueName, job)))

  const preparedOne = async (queueName: string, job: NewJob, addition?: JobAddition) => {
    const [only] = await prepared(queueName, [job], addition)
    if (only === undefined) throw queueErrors.QUEUE_INVALID_JOB(queueName, 'a plugin removed it in beforeJobsAdd')
    return only
  }

  /** Each job of a tree in stored form, with default retention: BullMQ's flow producer does not apply the defaults of queues. */
  const storedTree = async (node: FlowJob): Promise<FlowJob> => {
    const { queueName, data, opts: options = {}, children } = node
    const job = await preparedOne(queueName, { name: node.name, data, options: { jobId: newId(), ...options } })
    // Its parent would wait for a job that is not added, or for one that another parent waits for.
    if (job.opts.deduplication !== undefined) throw queueErrors.QUEUE_INVALID_JOB(queueName, 'a job of a flow takes no deduplication')
    queue(queueName)
    return {
      ...node,
      ...job,
      opts: { ...defaultRetention(keep), ...job.opts },
      ...(children !== undefined && { children: await Promise.all(children.map(storedTree)) }),
    }
  }

  const storedTemplate = async (name: string, id: string, timing: ScheduleTiming, template: JobTemplate): Promise<PlannedTemplate> => {
    if (!isStorableText(id))
      throw queueErrors.QUEUE_INVALID_JOB(name, 'the id of its schedule contains the character NUL or a lone surrogate')
    planning.check(name, timing)
    const { deduplication } = template.options ?? {}
    const fault = deduplication === undefined ? undefined : scheduleDeduplicationFault(deduplication)
    if (fault !== undefined) throw queueErrors.QUEUE_SCHEDULE_DEDUPLICATION(name, fault)
    const { jobId: _none, ...options } = template.options ?? {}
    const job = await preparedOne(name, { ...template, options }, { schedule: id })
    const { jobId: _, ...opts } = job.opts
    return { ...job, opts }
  }

  /** Jobs with ids of their own where they have none, and which of them can collide: those with an id that the app did not make. */
  const identified = async (name: string, jobs: readonly NewJob[]) => {
    const own = new Set<string>()
    const withIds = jobs.map((job) => {
      if (job.options?.jobId !== undefined) return job
      const jobId = newId()
      own.add(jobId)
      return { ...job, options: { ...job.options, jobId } }
    })
    return (await prepared(name, withIds)).map((job) => {
      const { jobId = '' } = job.opts
      return own.has(jobId) ? { job } : { job: { ...job, opts: { ...job.opts, [additionKey]: randomUUID() } } }
    })
  }

  /** Marks the jobs that were not added because of their id or their deduplication, and indexes the others. */
  const settled = async (
    name: string,
    wanted: readonly { readonly opts: JobOptions }[],
    added: readonly Job[],
  ): Promise<readonly AddedJob[]> => {
    const additions = wanted.map(({ opts }) => (opts as { readonly [additionKey]?: string })[additionKey])
    const chosen = added.flatMap(({ id = '' }, i) => (additions[i] === undefined || id !== wanted[i]?.opts.jobId ? [] : [id]))
    const stored = chosen.length === 0 ? undefined : await ask(() => store().additions(queue(name), chosen), repeatable)
    const marked = added.map((job, i) => {
      const { id = '' } = job
      // A job that is gone already was this one: it has run and was removed.
      const other = stored?.get(id) !== undefined && stored.get(id) !== additions[i]
      return Object.assign(job, { deduplicated: id !== wanted[i]?.opts.jobId || other })
    })
    const indexed = marked.flatMap(({ data, deduplicated, id, opts }, i) => {
      if (!deduplicated) return [{ id, data }]
      // The data are now those of the existing job, or of the one that runs after it.
      return replacesData(opts.deduplication) ? [id, wanted[i]?.opts.jobId].map((one) => ({ id: one, data })) : []
    })
    if (indexed.length > 0 && search.covers(name)) await search.added(name, indexed)
    return marked
  }

  return {
    async add(name, jobName, data, options = {}) {
      const [only] = await identified(name, [{ name: jobName, data, options }])
      if (only === undefined) throw queueErrors.QUEUE_INVALID_JOB(name, 'a plugin removed it in beforeJobsAdd')
      const { job } = only
      const added = await ask(() => queue(name).add(job.name, job.data, job.opts), repeatAdding([options]))
      const [result] = await settled(name, [job], [added])
      await payloads.added(name, [job], {})
      return result as AddedJob
    },
    async addBulk(name, jobs) {
      const all = (await identified(name, jobs)).map(({ job }) => job)
      const replacing = all.find(({ opts }) => replacesData(opts.deduplication))
      if (replacing !== undefined) {
        throw queueErrors.QUEUE_INVALID_JOB(name, 'the deduplication "keep-latest" and "debounce" cannot be used in a bulk: use add')
      }
      if (all.length === 0) return []
      const added = await ask(() => queue(name).addBulk(all), repeatAdding(jobs.map(({ options = {} }) => options)))
      const results = await settled(name, all, added)
      await payloads.added(name, all, {})
      return results
    },
    async addFlow(tree) {
      const checked = await storedTree(tree)
      const root = tree.opts?.jobId === undefined ? undefined : await ask(() => queue(tree.queueName).getJob(checked.opts?.jobId ?? ''))
      // Its children were added with it, and may have ended and be gone.
      if (root !== undefined) return { job: root as Job }
      const added = await ask(() => flow().add(checked), repeatAdding(optionsOf(tree)))
      await search.addedTree(added)
      for (const { queueName, ...job } of nodesOf(checked)) await payloads.added(queueName, [job], {})
      return added
    },
    async isScheduled(name, id, timing, template) {
      return planning.isStored(name, id, timing, await storedTemplate(name, id, timing, template))
    },
    async schedule(name, id, timing, template) {
      const job = await storedTemplate(name, id, timing, template)
      const first = await planning.put(name, id, timing, job)
      if (first !== undefined && search.covers(name)) await search.added(name, [first])
      await payloads.added(name, [job], { schedule: id })
      return first
    },
  }
}

const nodesOf = ({
  children = [],
  name,
  opts = {},
  queueName,
}: FlowJob): readonly { name: string; opts: JobOptions; queueName: string }[] => [{ name, opts, queueName }, ...children.flatMap(nodesOf)]

const optionsOf = (tree: FlowJob): readonly JobOptions[] => nodesOf(tree).map(({ opts }) => opts)
