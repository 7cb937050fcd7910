import type { FlowChange, WorkerChange } from 'zin/plugins/workers'

/** The jobs that an action added, for its `done` entry. */
export interface AddedJobs {
  /** The added job; for a flow, its root job. */
  readonly target: string
  /** For a flow: the number of jobs, and the first of them. */
  readonly text?: string
}

/** Maximum number of jobs of a flow that are named. */
const mostNamed = 10

/** Returns the added jobs; undefined if the action adds none, or the id is not known yet. Pure. */
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
