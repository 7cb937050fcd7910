import type { Job } from 'bullmq'
import { type Clock, messageOf, type SlotOf } from 'zin'
import type { DeletedJobDetails, QueueJob, Queues } from 'zin/plugins/queues'
import type { ComplianceHooks, SubjectRecord } from '../hooks.js'
import { lostText, type SubjectDigests } from './digest.js'
import { type SubjectJobs, unsettledText } from './find.js'
import { namesOf } from './names.js'
import type { StoredSubjects } from './stored.js'

/** A decrypted job in an export. Times are ISO 8601, null if unset. */
export interface ExportedJob {
  readonly queue: string
  readonly id: string
  readonly name: string
  readonly state: string
  readonly data: unknown
  readonly result: unknown
  readonly error: string | null
  readonly progress: unknown
  readonly logs: readonly string[]
  readonly createdAt: string
  readonly finishedAt: string | null
}

/** The exported data of a subject, as its JSON text reads. */
export interface SubjectExport {
  readonly subject: string
  readonly exportedAt: string
  readonly jobs: readonly ExportedJob[]
  /** Records of other plugins. */
  readonly records: readonly (SubjectRecord & { readonly plugin: string })[]
  /** False if something is missing, such as jobs beyond 10,000 or the records of a plugin that failed; `problems` lists the reasons. */
  readonly complete: boolean
  readonly problems: readonly string[]
}

export interface ExportParts {
  readonly queues: Queues
  readonly jobs: SubjectJobs
  readonly hooks: { readonly [K in 'nameSubject' | 'exportSubject']: SlotOf<ComplianceHooks[K]> }
  readonly digests: Pick<SubjectDigests, 'allOf'>
  readonly stored: Pick<StoredSubjects, 'names'>
  readonly clock: Clock
}

/** Maximum number of jobs in an export. */
const mostExported = 10_000
/** Maximum number of log lines per job, and how many are read at once, because each may be as large as a job. */
const logLines = 10_000
const linesAtOnce = 20

/**
 * Yields the data of a subject as the text of one JSON object, job by job, so that an export of any size takes the memory of one job.
 *
 * @param closing Aborted when the app stops; the export is then incomplete.
 */
export async function* exportSubject(
  subject: string,
  { clock, digests, hooks, jobs, queues, stored }: ExportParts,
  closing: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const seen = new Set<string>()
  let exported = 0
  const { digests: wanted, lost } = await digests.allOf(subject)
  const problems = new Set([lostText(lost)].filter((text) => text !== undefined))
  yield `{"ok":true,${fields({ subject, exportedAt: new Date(clock.now()).toISOString() })},"jobs":[`
  search: for await (const step of jobs.find(subject, closing)) {
    if (step.unsettled === true) problems.add(unsettledText([step.queue]))
    for (const id of step.jobs) {
      const key = `${step.queue}:${id}`
      if (seen.has(key)) continue
      for await (const job of exportedJobs(queues, step.queue, id)) {
        const isTheirs = await stored.names(step.queue, job.source, wanted).catch((error: unknown) => {
          problems.add(`A job of the queue ${step.queue} that may be theirs is not included: ${messageOf(error)}`)
          return false
        })
        if (!isTheirs) continue
        if (exported >= mostExported) {
          problems.add(`There are more than ${mostExported} jobs; only the first ones are included`)
          break search
        }
        yield* textOf(await job.read(), exported > 0)
        exported++
        seen.add(key)
      }
    }
  }
  if (closing.aborted) problems.add('The app is stopping, so the search is incomplete; repeat the request')
  const records: (SubjectRecord & { readonly plugin: string })[] = []
  const known = new Set<string>()
  const { names, problems: unnamed } = await namesOf(subject, hooks.nameSubject)
  for (const problem of unnamed) problems.add(problem)
  for (const name of names) {
    for (const [plugin, theirs] of await hooks.exportSubject.call(name)) {
      if (theirs instanceof Error) problems.add(`The plugin ${plugin} failed: ${theirs.message}`)
      else {
        for (const record of theirs) {
          // A plugin may find the same record by several names.
          const key = JSON.stringify([plugin, record])
          if (!known.has(key)) records.push({ ...record, plugin })
          known.add(key)
        }
      }
    }
  }
  yield '],"records":['
  for (const [index, record] of records.entries()) yield (index > 0 ? ',' : '') + JSON.stringify(record)
  yield `],${fields({ complete: problems.size === 0, problems: [...problems] })}}`
}

/** A job whose log lines are still to be read. */
type ReadJob = Omit<ExportedJob, 'logs'> & { readonly logs: AsyncIterable<readonly string[]> }

/** The properties of an object as JSON, without its braces. */
const fields = (values: object): string => JSON.stringify(values).slice(1, -1)

async function* textOf({ createdAt, finishedAt, logs, ...job }: ReadJob, follows: boolean): AsyncGenerator<string, void, undefined> {
  yield `${follows ? ',' : ''}{${fields(job)},"logs":[`
  let first = true
  for await (const lines of logs) {
    if (lines.length === 0) continue
    yield (first ? '' : ',') + fields(lines)
    first = false
  }
  yield `],${fields({ createdAt, finishedAt })}}`
}

/** A job, and how to read it for the export. */
interface FoundJob {
  readonly source: Pick<DeletedJobDetails, 'queueName' | 'data'> & { readonly opts: object }
  read(): Promise<ReadJob>
}

/** Yields the jobs with an id: the one that exists, and the deleted one that can be restored. */
async function* exportedJobs(queues: Queues, queue: string, id: string): AsyncGenerator<FoundJob, void, undefined> {
  const found = await queues.job(queue, id)
  if (found !== undefined) yield { source: found.job, read: () => readJob(queues, queue, found) }
  const deleted = await queues.deletedJob(queue, id)
  if (deleted !== undefined) yield { source: deleted, read: () => readDeletedJob(queues, queue, deleted) }
}

async function readJob(queues: Queues, queue: string, { job, state }: QueueJob): Promise<ReadJob> {
  const { id = '' } = job
  return {
    queue,
    id,
    name: job.name,
    state,
    data: (await readable(queues.restoredData(job))) ?? null,
    result: state === 'completed' ? ((await readable(queues.restoredResult(job))) ?? null) : null,
    error: job.failedReason || null,
    progress: (job.progress as unknown) ?? null,
    logs: linesOf(queues, queue, id),
    createdAt: new Date(job.timestamp).toISOString(),
    finishedAt: finishedAt(job),
  }
}

async function* linesOf(queues: Queues, queue: string, id: string): AsyncGenerator<readonly string[], void, undefined> {
  for (let next = 0, read = 0; read < logLines; read += linesAtOnce) {
    const { logs, offset } = await queues.logs(queue, id, { offset: next, limit: linesAtOnce })
    yield logs
    if (logs.length < linesAtOnce) return
    next = offset + logs.length
  }
}

async function readDeletedJob(queues: Queues, queue: string, job: DeletedJobDetails): Promise<ReadJob> {
  const { error, finishedAt: ended, id, logs, name, progress, result, timestamp } = job
  return {
    queue,
    id,
    name,
    state: 'deleted',
    data: (await readable(queues.restoredData(job))) ?? null,
    result: (await readable(queues.restoredResult({ queueName: queue, returnvalue: result }))) ?? null,
    error: error === null ? null : await queues.restoredText(queue, error, 'error'),
    progress: (await readable(queues.restoredData({ queueName: queue, data: progress }))) ?? null,
    logs: restoredLines(queues, queue, logs),
    createdAt: new Date(timestamp).toISOString(),
    finishedAt: ended === null ? null : new Date(ended).toISOString(),
  }
}

async function* restoredLines(queues: Queues, queue: string, logs: readonly string[]): AsyncGenerator<readonly string[], void, undefined> {
  for (const line of logs.slice(0, logLines)) yield [await queues.restoredText(queue, line, 'log')]
}

/** Resolves to the value, or to the reason why it cannot be restored. */
function readable(value: Promise<unknown>): Promise<unknown> {
  return value.catch((error: unknown) => `(${messageOf(error)})`)
}

function finishedAt({ finishedOn }: Job): string | null {
  return finishedOn ? new Date(finishedOn).toISOString() : null
}
