/** A started instance of a service. */
export interface Running {
  /** Of a process of its own. */
  readonly pid?: number
  stop(): Promise<void>
}

/** Starts instances. `onLost` is called when one ends that was not stopped, with the reason. */
export type Runner = (port: number, onLost: (reason: string) => void) => Promise<Running>
