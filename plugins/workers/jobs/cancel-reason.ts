/** The reason that a signal is aborted with when its worker stops. */
export const stopReason = 'shutdown'

const prefix = 'Cancelled: '

/** The reason that a signal is aborted with when somebody cancels its job. */
export function cancelReason(reason: string): string {
  // A store could refuse the character NUL, and the reason becomes the job's error.
  return `${prefix}${reason.replaceAll('\0', '').slice(0, 500)}`
}

export function isCancelReason(reason: unknown): reason is string {
  return typeof reason === 'string' && reason.startsWith(prefix)
}
