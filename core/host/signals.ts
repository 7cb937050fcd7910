import type { Host } from './host.js'
import type { ShutdownReport } from './shutdown.js'

export interface SignalOptions {
  /** Called when the host has stopped. Default: exits with 0 after a clean shutdown, otherwise with 1. */
  readonly onExit?: (report: ShutdownReport) => void
}

/** Stops the host on SIGTERM or SIGINT; a second signal exits immediately with 1. Returns a function that removes the handlers. */
export function runWithSignals(host: Host, options: SignalOptions = {}): () => void {
  const { onExit = (report) => process.exit(report.clean ? 0 : 1) } = options
  let stopping = false
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1)
    stopping = true
    void host.stop(signal).then(onExit, () => process.exit(1))
  }
  const signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}
