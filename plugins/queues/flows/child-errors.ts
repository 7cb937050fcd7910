import type { Job, Queue } from 'bullmq'
import type { PartsOf, QueueBackend } from '../backend.js'
import type { PurgedJob } from '../hooks.js'
import type { Payloads } from '../payloads.js'

/** A job that has failed, and the job that waits or waited for it. */
export interface FailedChild {
  readonly queue: string
  readonly id: string
  readonly parentKey: string | undefined
}

export interface ChildErrorsParts {
  readonly backend: QueueBackend
  readonly payloads: Pick<Payloads, 'restoreText' | 'transformText'>
  readonly queue: (name: string) => Queue
  /** Tells plugins to remove what they keep about the attempts of jobs. */
  readonly after: (queue: string, jobs: readonly PurgedJob[]) => Promise<void>
}

/** What the error of a parent says about a child instead of its error. */
export const noLongerExists = ' or was removed; it no longer exists'

const mostLevels = 50
/** Limit on the looks at a job that changes between reading and writing. */
const mostLooks = 5

/**
 * Removes the error of a child from the errors, stacks, events and attempts of the jobs above it, which repeat it. Returns false if one of them
 * is running: it would store its stacks again.
 */
export async function forgetChildError(child: FailedChild, parts: ChildErrorsParts): Promise<boolean> {
  const { after, backend } = parts
  let isGone = true
  let key = child.parentKey
  for (let level = 0; level < mostLevels && key !== undefined; level++) {
    const [name = '', id = ''] = key.split(':').slice(-2)
    const queue = parts.queue(name)
    const job = await queue.getJob(id)
    const outcome = await forget({ queue, id, kind: job === undefined ? 'deleted' : 'job' }, child, parts)
    if (outcome === 'busy') isGone = false
    key = job === undefined ? (await backend.deletion.deletedJob(name, id))?.parentKey : job.parentKey
    if (outcome !== 'changed') continue
    await backend.removeTraces(queue, [{ id, ...(key !== undefined && { parentKey: key }) } as Pick<Job, 'id' | 'parentKey'>])
    await after(name, [{ id, attempts: job && attemptsOf(job) }])
  }
  return isGone
}

/** The attempts of a job of which plugins may keep something: one that failed through a child has an attempt without having started. */
export const attemptsOf = ({ attemptsMade, attemptsStarted }: Pick<Job, 'attemptsMade' | 'attemptsStarted'>): number =>
  Math.max(1, attemptsMade, attemptsStarted)

async function forget(of: PartsOf, child: FailedChild, { backend, payloads }: ChildErrorsParts): Promise<'changed' | 'unchanged' | 'busy'> {
  const { name } = of.queue
  const without = async (stored: string, part: 'error' | 'stack'): Promise<string> => {
    const text = await payloads.restoreText(name, stored, part)
    const left = withoutChildError(text, child)
    return left === text ? stored : payloads.transformText(name, left, part)
  }
  for (let looks = 0; looks < mostLooks; looks++) {
    const before = await backend.readParts(of)
    if (before === undefined) return 'unchanged'
    const stacks = before.stacks === undefined ? undefined : (JSON.parse(before.stacks) as unknown)
    const isList = Array.isArray(stacks) && stacks.length > 0
    const after = {
      ...before,
      ...(before.error !== undefined && { error: await without(before.error, 'error') }),
      ...(isList && { stacks: JSON.stringify(await Promise.all(stacks.map((stack) => without(String(stack), 'stack')))) }),
    }
    const isSame = after.error === before.error && (!isList || after.stacks === JSON.stringify(stacks))
    if (isSame) return 'unchanged'
    if (await backend.writeParts(of, before, after)) return 'changed'
  }
  return 'busy'
}

/** An error or a stack, without the error of a child that it repeats. Pure. */
export function withoutChildError(text: string, { id, queue }: Pick<FailedChild, 'id' | 'queue'>): string {
  const named = `child ${queue}:${id} failed`
  const at = text.indexOf(`${named}: `)
  return at < 0 ? text : `${text.slice(0, at)}${named}${noLongerExists}`
}
