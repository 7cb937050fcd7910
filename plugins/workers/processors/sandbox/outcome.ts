import { fromWire, outcomes, type WireError } from './wire-error.js'

/** The error that a processor threw. One of BullMQ's that say what becomes of the job is of that class again. */
export async function thrownError(wire: WireError): Promise<Error> {
  const outcome = outcomes.find((known) => known === wire.outcome)
  if (outcome === undefined) return fromWire(wire)
  const bullmq = await import('bullmq')
  const { code, stack } = wire
  return Object.assign(new bullmq[outcome](wire.message), code !== undefined && { code }, stack !== undefined && { stack })
}
