import type { FlowChange, WorkerChange } from 'zin/plugins/workers'

/** What an action has added, for its entry `done`. */
export interface AddedJobs {
  /** The job; of a flow, the last one to run. */
  readonly target: string
  /** How many jobs a flow has, and the first of them. */
  readonly text?: string
}

/** Jobs of a flow that are named. */
const mostNamed = 10

/** Undefined: the action adds no job, or it has not got its id yet. Pure. */
export function addedJobs({ action, after }: Pick<WorkerChange, 'action' | 'after'>): AddedJobs | undefined {
  if (after === null || (action !== 'job.add' && action !== 'flow.add')) return undefined
  const { id, queue } = after as Pick<FlowChange, 'id' | 'queue'>
  if (id === null) return undefined
  const target = `job:${queue}/${id}`
  if (action === 'job.add') return { target }
  const named: string[] = []
  const jobs = countFlow(after as FlowChange, named)
  return { target, text: `${jobs} jobs: ${named.join(', ')}${jobs > named.length ? ', …' : ''}` }
}

function countFlow({ children, id, queue }: FlowChange, named: string[]): number {
  if (named.length < mostNamed) named.push(`${queue}/${id}`)
  return children.reduce((jobs, child) => jobs + countFlow(child, named), 1)
}
