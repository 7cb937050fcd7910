import { randomUUID } from 'node:crypto'
import type { Clock } from 'zin'
import type { JobAddition, JobOptions, NewJob } from 'zin/plugins/queues'
import { valueAt } from '../encryption/envelope.js'
import { complianceErrors } from '../errors.js'
import type { IndexedJob, SubjectIndex } from '../store/subject-index.js'
import { type Declarations, isSubject, mostSubjects, originOf, pathsOf, subjectsIn } from './declared.js'
import { packed, type SubjectDigests, unpacked } from './digest.js'

export interface IndexJobsParts {
  readonly declarations: Declarations
  readonly digests: SubjectDigests
  /** If absent, the option `subject` is still replaced by its digest, but nothing is indexed. */
  readonly index: SubjectIndex | undefined
  readonly clock: Clock
}

/** Returns the index row of a schedule. Its jobs are added by the store itself, so only the schedule can be indexed. */
export const scheduleRow = (id: string): string => `@${id}`

/**
 * Indexes jobs by subject before they are added: the digests are stored in the option `subject` of each job, and in the index with the job
 * id. Jobs without an id get one here, because an entry written after the job could be missing after a crash.
 */
export function indexJobs({ clock, declarations, digests, index }: IndexJobsParts) {
  return async (jobs: readonly NewJob[], queue: string, { schedule }: JobAddition): Promise<readonly NewJob[] | undefined> => {
    const entries: IndexedJob[] = []
    let changed = false
    const result = jobs.map((job) => {
      const found = digestsOf(job, queue, declarations, digests)
      const { subject, ...others } = job.options ?? {}
      if (found.length === 0 && subject === undefined) return job
      changed = true
      if (found.length === 0) return { ...job, options: others as JobOptions }
      const id = schedule ?? others.jobId ?? randomUUID()
      const at = clock.now()
      for (const one of found) entries.push({ subject: one, queue, job: schedule === undefined ? id : scheduleRow(id), at })
      const ided = index === undefined || schedule !== undefined ? others : { ...others, jobId: id }
      return { ...job, options: { ...ided, subject: packed(found) } as JobOptions }
    })
    if (index !== undefined && entries.length > 0) await index.add(entries)
    return changed ? result : undefined
  }
}

/** Indexes a job by the subjects in its new data before it gets the data. */
export function indexUpdates({ clock, declarations, digests, index }: IndexJobsParts & { readonly index: SubjectIndex }) {
  return async (job: NewJob, queue: string): Promise<void> => {
    const id = job.options?.jobId
    const found = digestsOf(job, queue, declarations, digests)
    if (id === undefined || found.length === 0) return
    await index.addFound(found.map((subject) => ({ subject, queue, job: id, at: clock.now() })))
  }
}

/** Returns the digests of a job: from the paths of its queue, from its option, and from the original job of a dead letter. */
function digestsOf({ data, options }: NewJob, queue: string, declarations: Declarations, digests: SubjectDigests): readonly string[] {
  const subject = options?.subject
  const known = unpacked(subject)
  const named = known.length === 0 && isSubject(subject) ? [subject] : []
  const inherited = originOf(queue) === undefined ? [] : unpacked(valueAt(data, 'options.subject'))
  const ofData = [...subjectsIn(data, pathsOf(declarations, queue)), ...named].map((one) => digests.of(one))
  const all = [...new Set([...known, ...inherited, ...ofData])]
  if (all.length > mostSubjects) throw complianceErrors.TOO_MANY_SUBJECTS(queue, all.length, mostSubjects)
  return all
}
