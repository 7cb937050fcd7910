import { fromWire, outcomes, type WireError } from './wire-error.js'

/** The error that a processor threw. One of BullMQ's that say what becomes of the job is of that class again. */
export async function thrownError(wire: WireError): Promise<Error> {
  const outcome = outcomes.find((known) => known === wire.outcome)
  if (outcome === undefined) return fromWire(wire)
  const bullmq = await import('bullmq')
  const error = new bullmq[outcome](wire.message)
  return wire.stack === undefined ? error : Object.assign(error, { stack: wire.stack })
}
