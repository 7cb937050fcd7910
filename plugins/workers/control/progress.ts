import { ZinError } from 'zin'
import type { FailedTarget, Operation } from '../contract.js'
import type { OperationOutcome, OperationRecord, ReportedStatus } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'

/** The progress of one node with an operation. */
type Progress = 'waiting' | 'applied' | FailedTarget

/**
 * Returns which targets have applied an operation and which could not, from their reported statuses. Targets that have gone drop out; if none
 * is left, the nodes that run the worker in their place count.
 */
export function outcomeOf(
  operation: OperationRecord,
  reported: readonly ReportedStatus[],
  gone: ReadonlySet<string>,
): OperationOutcome & { readonly targets: readonly string[] } {
  const progress = (node: string): Progress => progressOf(operation, node, reported)
  const left = operation.targets.filter((node) => !gone.has(node) || progress(node) !== 'waiting')
  const heirs = reported.filter(({ alive, node, placed }) => alive && placed && progress(node) !== 'waiting').map(({ node }) => node)
  const targets = left.length === 0 ? heirs : left
  return {
    targets,
    applied: targets.filter((node) => progress(node) === 'applied'),
    failed: targets.map(progress).filter((one) => typeof one === 'object'),
  }
}

function progressOf(operation: OperationRecord, node: string, reported: readonly ReportedStatus[]): Progress {
  const status = reported.find((one) => one.node === node && one.workerId === operation.workerId)
  // A starting worker retries until it succeeds.
  if (status === undefined || status.generation < operation.generation || status.state === 'starting') return 'waiting'
  const { awaits, error } = status
  if (error !== undefined && isOf(operation, error.generation ?? status.generation, error.version)) {
    return { node, code: error.code, message: error.message, status: error.status }
  }
  const refused =
    operation.action === 'candidates' ? status.candidates?.find((candidate) => candidate.error !== undefined)?.error : undefined
  if (refused !== undefined) return { node, code: refused.code, message: refused.message, status: refused.status }
  return operation.version !== undefined && awaits === operation.version ? 'waiting' : 'applied'
}

/** Whether an error belongs to this operation: a worker that FAILED or refused a version earlier can still be changed. */
function isOf(operation: OperationRecord, generation: number, version: string | undefined): boolean {
  return generation >= operation.generation && (version === undefined || version === operation.version)
}

/** Throws the error of the first node when no node could apply the operation, or when a rollout halted. */
export function demandSuccess(worker: StoredWorker, operation: Operation): void {
  const { applied, failed, state, targets } = operation
  const [first] = failed
  if (first === undefined || (state !== 'halted' && failed.length < targets.length)) return
  const { version } = worker.desired
  const halted = `; the rollout halted at ${first.node}: ${applied.length} of ${targets.length} nodes run ${version}; the others keep the previous version`
  const message = state === 'halted' ? `${first.message}${halted}` : first.message
  throw new ZinError(first.code, message, { status: first.status, details: { operation } })
}
