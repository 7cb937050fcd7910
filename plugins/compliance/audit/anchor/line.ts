import type { Checkpoint } from '../places/checkpoint.js'

/** Returns the line of an anchor: the checkpoint with its time, ISO 8601, as JSON without a line break. */
export function anchorLine(checkpoint: Checkpoint, at: number): string {
  return JSON.stringify({ at: new Date(at).toISOString(), ...checkpoint })
}
