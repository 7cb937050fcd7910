/** The abort reason of a signal whose worker stops. */
export const stopReason = 'shutdown'
