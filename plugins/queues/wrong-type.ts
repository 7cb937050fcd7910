import { messageOf } from 'zin'

/** Whether Redis refused a command because a key has another type, also within a script. */
export function isWrongType(error: unknown): boolean {
  return /\bWRONGTYPE\b/.test(messageOf(error))
}
