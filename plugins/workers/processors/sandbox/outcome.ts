import { fromWire, outcomes, type WireError } from './wire-error.js'

/** Returns the error that a processor threw. BullMQ errors that determine what happens to the job have their class again. */
export async function thrownError(wire: WireError): Promise<Error> {
  const outcome = outcomes.find((known) => known === wire.outcome)
  if (outcome === undefined) return fromWire(wire)
  const bullmq = await import('bullmq')
  const { code, stack } = wire
  return Object.assign(new bullmq[outcome](wire.message), code !== undefined && { code }, stack !== undefined && { stack })
}
