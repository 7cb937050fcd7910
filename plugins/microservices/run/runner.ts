/** A started instance of a service. */
export interface Running {
  /** Set if it runs in a child process. */
  readonly pid?: number
  stop(): Promise<void>
}

/** Starts an instance on a port. Calls `onLost` with the reason if the instance exits without being stopped. */
export type Runner = (port: number, onLost: (reason: string) => void) => Promise<Running>
