/** The reason that a signal is aborted with when its worker stops. */
export const stopReason = 'shutdown'
