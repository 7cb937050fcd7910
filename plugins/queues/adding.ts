import type { FlowJob, FlowProducer, Queue } from 'bullmq'
import { type Ask, repeatAdding, repeatable } from './ask.js'
import type { QueueBackend } from './backend.js'
import type { JobOptions, NewJob, Queues } from './contract.js'
import { queueErrors } from './errors.js'
import type { JobAddition } from './hooks.js'
import { checkJob, isStorableText } from './job-check.js'
import type { Payloads } from './payloads.js'
import { defaultRetention, withRetention } from './retention.js'
import type { Search } from './search/service.js'

export interface AddingParts {
  readonly payloads: Payloads
  readonly maxJobBytes: number
  readonly search: Search
  readonly queue: (name: string) => Queue
  readonly flow: () => FlowProducer
  readonly keep: QueueBackend['keep']
  readonly ask: Ask
}

/** Adds jobs: checks them, passes their data through the hooks, adapts their retention to the store, and indexes their searchable fields. */
export function createAdding(parts: AddingParts): Pick<Queues, 'add' | 'addBulk' | 'addFlow' | 'schedule'> {
  const { ask, flow, keep, maxJobBytes, payloads, queue, search } = parts

  const stored = async (queueName: string, { name, data, options = {} }: NewJob) => {
    checkJob(queueName, name, data, options, maxJobBytes)
    const transformed = payloads.transformsData ? await payloads.transformData(queueName, data) : data
    return { name, data: transformed, opts: withRetention(options, keep) }
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
    const job = await preparedOne(queueName, { name: node.name, data, options })
    queue(queueName)
    return {
      ...node,
      ...job,
      opts: { ...defaultRetention(keep), ...job.opts },
      ...(children !== undefined && { children: await Promise.all(children.map(storedTree)) }),
    }
  }

  return {
    async add(name, jobName, data, options = {}) {
      const job = await preparedOne(name, { name: jobName, data, options })
      const added = await ask(() => queue(name).add(job.name, job.data, job.opts), repeatAdding([job.opts]))
      if (search.covers(name)) await search.added(name, [added])
      await payloads.added(name, [job], {})
      return added
    },
    async addBulk(name, jobs) {
      const all = await prepared(name, jobs)
      const added = all.length === 0 ? [] : await ask(() => queue(name).addBulk(all), repeatAdding(all.map(({ opts }) => opts)))
      if (search.covers(name)) await search.added(name, added)
      await payloads.added(name, all, {})
      return added
    },
    async addFlow(tree) {
      const checked = await storedTree(tree)
      const added = await ask(() => flow().add(checked), repeatAdding(optionsOf(checked)))
      await search.addedTree(added)
      for (const { queueName, ...job } of nodesOf(checked)) await payloads.added(queueName, [job], {})
      return added
    },
    async schedule(name, id, timing, { name: jobName, data, options = {} }) {
      if (!isStorableText(id))
        throw queueErrors.QUEUE_INVALID_JOB(name, 'the id of its schedule contains the character NUL or a lone surrogate')
      const { jobId: _none, ...own } = options
      const job = await preparedOne(name, { name: jobName, data, options: own }, { schedule: id })
      const { jobId: _, ...opts } = job.opts
      // Typed as always defined, but undefined when the last date is past.
      const template = { name: job.name, data: job.data, opts }
      const first = await ask(() => queue(name).upsertJobScheduler(id, timing, template), repeatable)
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
