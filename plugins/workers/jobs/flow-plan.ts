import { createHash } from 'node:crypto'
import { checkName } from '../record/checks.js'
import { isObject, type Problem, problem, unknownFields } from '../record/problem.js'
import { jobProblems } from './job-plan.js'
import type { FlowSpec } from './types.js'

const maxDepth = 10
const maxJobs = 1000
const code = 'INVALID_FLOW'
const keys: readonly (keyof FlowSpec)[] = ['worker', 'data', 'options', 'children']

/** All problems of a tree of jobs. If it is too large or too deep, only that problem. */
export function flowProblems(flow: unknown): readonly Problem[] {
  const jobs: { readonly job: unknown; readonly path: string }[] = []
  let level: readonly { readonly job: unknown; readonly path: string }[] = [{ job: flow, path: 'flow' }]
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return [problem('flow', code, `"flow" is deeper than ${maxDepth} levels of jobs`)]
    if (jobs.length + level.length > maxJobs) return [problem('flow', code, `"flow" has more than ${maxJobs} jobs`)]
    jobs.push(...level)
    level = level.flatMap(({ job, path }) =>
      isObject(job) && Array.isArray(job.children)
        ? job.children.map((child: unknown, i) => ({ job: child, path: `${path}.children[${i}]` }))
        : [],
    )
  }
  return jobs.flatMap(({ job, path }) => problemsOf(job, path))
}

function problemsOf(job: unknown, path: string): readonly Problem[] {
  if (!isObject(job)) return [problem(path, code, `"${path}" must be an object {worker, data?, options?, children?}`)]
  const found: Problem[] = [...unknownFields(job, keys, code, path)]
  const name = checkName(job.worker)
  if (name !== undefined) found.push({ ...name, field: `${path}.worker` })
  // With deduplication, a parent could wait for a child that another parent already waits for. The ids of children follow from the root's.
  const without = path === 'flow' ? (['deduplication', 'onFailure'] as const) : (['deduplication', 'jobId'] as const)
  if (job.options !== undefined) found.push(...jobProblems(job.options, `${path}.options`, without))
  if (job.children !== undefined && !Array.isArray(job.children)) {
    found.push(problem(`${path}.children`, code, `"${path}.children" must be a list of jobs`))
  }
  return found
}

/** The problem of arguments after the tree, which would otherwise be ignored. */
export function argumentProblems(more: readonly unknown[]): readonly Problem[] {
  if (more.every((one) => one === undefined)) return []
  return [problem('flow', code, 'A flow takes no argument besides the tree: options belong to each job in it, as "flow.options"')]
}

/** Where a job is in its flow. */
export interface FlowPlace {
  /** Id of the job. */
  readonly id: string
  /** Id of the flow's root. */
  readonly root: string
  /** Whether the ids below follow from the root's id and the position, so that adding the flow again adds no job twice. */
  readonly repeatable: boolean
}

/** @param newId makes the id of a root without one. */
export function rootPlace(jobId: string | undefined, newId: () => string): FlowPlace {
  const id = jobId ?? newId()
  return { id, root: id, repeatable: jobId !== undefined }
}

export function placeBelow(parent: FlowPlace, at: number, newId: () => string): FlowPlace {
  const id = parent.repeatable ? `flow-${createHash('sha256').update(`${parent.id} ${at}`).digest('hex').slice(0, 40)}` : newId()
  return { ...parent, id }
}

/** Distinct names of all workers in a validated flow. */
export function workersOf(flow: FlowSpec): readonly string[] {
  return [...new Set([flow.worker, ...(flow.children ?? []).flatMap(workersOf)])]
}
