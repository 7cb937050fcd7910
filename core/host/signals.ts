import type { Host } from './host.js'
import type { ShutdownReport } from './shutdown.js'

export interface SignalOptions {
  /** Called when the host has stopped. Default: exits with 0 after a clean shutdown, otherwise with 1. */
  readonly onExit?: (report: ShutdownReport) => void
}

/**
 * Stops the host on SIGTERM or SIGINT; a second signal exits immediately with 1. An error that nothing caught, such as a floating rejection, is
 * logged, and stops the host too: the state of the process is unknown. Returns a function that removes the handlers.
 */
export function runWithSignals(host: Host, options: SignalOptions = {}): () => void {
  const { onExit = (report) => process.exit(report.clean ? 0 : 1) } = options
  let stopping = false
  let failing = false
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1)
    stopping = true
    // It stops already, and exits with 1.
    if (failing) return
    void host.stop(signal).then(
      (report) => onExit(failing ? { ...report, clean: false } : report),
      () => process.exit(1),
    )
  }
  const onError = (error: unknown): void => {
    if (failing) return
    failing = true
    const exit = (): never => process.exit(1)
    void host.fail(error).then((report) => onExit({ ...report, clean: false }), exit)
  }
  const signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']
  for (const signal of signals) process.on(signal, onSignal)
  process.on('uncaughtException', onError)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
    process.off('uncaughtException', onError)
  }
}
