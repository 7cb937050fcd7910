/** The reason that a signal is aborted with when its worker stops. */
export const stopReason = 'shutdown'

const prefix = 'Cancelled: '

/** The reason that a signal is aborted with when somebody cancels its job. It becomes the job's error, so it is text that a store can keep. */
export function cancelReason(reason: string): string {
  return `${prefix}${reason.slice(0, 500).replaceAll(/\0|\p{Surrogate}/gu, '')}`
}

export function isCancelReason(reason: unknown): reason is string {
  return typeof reason === 'string' && reason.startsWith(prefix)
}
