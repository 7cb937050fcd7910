/** The proxy on this machine. */
export interface LocalServer {
  readonly url: string
  /** Ends requests in flight and everything that it started. */
  close(): Promise<void>
}
