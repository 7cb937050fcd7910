/** A proxy running on this machine. */
export interface LocalServer {
  readonly url: string
  /** Drains requests in flight, then stops everything that it started. */
  close(): Promise<void>
}
