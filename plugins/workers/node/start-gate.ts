import { ZinError } from 'zin'
import { workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'

/** Throws WORKER_START_DENIED, or the error of the plugin, if a plugin denies the start. */
export async function demandStartAllowed(worker: string, { beforeWorkerStart }: HookSlots): Promise<void> {
  if (!beforeWorkerStart.active) return
  const verdict = await beforeWorkerStart.call(worker)
  if (verdict.denied) throw verdict.error ?? workerErrors.WORKER_START_DENIED(worker, verdict.plugin, verdict.reason)
}

export function isDenial(error: unknown): boolean {
  return error instanceof ZinError && error.code === 'WORKER_START_DENIED'
}
